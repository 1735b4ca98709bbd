"""TensorRT-LLM's engine without its tokenizer: token ids in, token ids out, one at a time."""

import time

import numpy
import triton_python_backend_utils as triton


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            count = triton.get_input_tensor_by_name(request, "request_output_len").as_numpy().flatten()[0]
            sender = request.get_response_sender()
            for token in range(count):
                time.sleep(0.002)
                sender.send(triton.InferenceResponse([triton.Tensor("output_ids", numpy.array([token], numpy.int32))]))
            sender.send(flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
