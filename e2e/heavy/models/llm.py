"""A language model that only keeps the pace: answers are words, one at a time or all at once.

It serves as TensorRT-LLM's model (max_tokens is a tensor) and as vLLM's (max_tokens is in the JSON of
sampling_parameters). Both are decoupled; without streaming they give one response.
"""

import json
import time

import numpy
import triton_python_backend_utils as triton


def value(request, name, default):
    tensor = triton.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().flatten()[0]


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            count = int(json.loads(value(request, "sampling_parameters", b"{}")).get("max_tokens", 16))
            count = int(value(request, "max_tokens", count))
            words = [" word%d" % i for i in range(count)]
            if not value(request, "exclude_input_in_output", False):
                words.insert(0, value(request, "text_input", b"").decode())
            if not value(request, "stream", False):
                words = ["".join(words)]
            sender = request.get_response_sender()
            for word in words:
                time.sleep(0.002)
                sender.send(triton.InferenceResponse([triton.Tensor("text_output", numpy.array([word.encode()], object))]))
            sender.send(flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
