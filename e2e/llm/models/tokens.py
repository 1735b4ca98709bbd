"""A language model in its timing alone: the first token after FIRST, each further one after NEXT, as a stream or at once.

The first is up to 10 % sooner or later, as the prompt wants it: requests that were sent at once then drift apart.
It answers within execute(), which is steady under load; its instances make it concurrent.
"""

import json
import time

import numpy
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.first, self.next = (float(parameters[key]["string_value"]) for key in ("FIRST", "NEXT"))

    def execute(self, requests):
        for request in requests:
            length = triton.get_input_tensor_by_name(request, "request_output_len").as_numpy().reshape(-1)[0]
            streaming = triton.get_input_tensor_by_name(request, "streaming")
            prompt = triton.get_input_tensor_by_name(request, "input_ids").as_numpy()
            first = self.first * (0.9 + int(prompt.sum()) % 201 / 1000)
            sender, ready = request.get_response_sender(), []
            for index in range(max(1, int(length))):
                time.sleep(self.next if index else first)
                ready.append(index)
                if streaming is not None and streaming.as_numpy().any():
                    sender.send(self.answer(ready))
                    ready = []
            if ready:
                sender.send(self.answer(ready))
            sender.send(flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None

    def answer(self, numbers):
        return triton.InferenceResponse([triton.Tensor("output_ids", numpy.array([numbers], numpy.int32))])
