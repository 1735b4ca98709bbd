"""Gives each input back under the name of the output at the same place.

Parameters: delay_ms sleeps once an execution, that is once a batch; fail_every answers each n-th request with an error.
"""

import json
import time

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.pairs = [(i["name"], o["name"]) for i, o in zip(config["input"], config["output"])]
        self.delay = self.number(config, "delay_ms") / 1000
        self.fail_every = self.number(config, "fail_every")
        self.seen = 0

    @staticmethod
    def number(config, name):
        return int(config.get("parameters", {}).get(name, {}).get("string_value", "0"))

    def execute(self, requests):
        time.sleep(self.delay)
        return [self.answer(request) for request in requests]

    def answer(self, request):
        self.seen += 1
        if self.fail_every and self.seen % self.fail_every == 0:
            return triton.InferenceResponse(error=triton.TritonError("this model fails on purpose now and then"))
        tensors = ((out, triton.get_input_tensor_by_name(request, name)) for name, out in self.pairs)
        return triton.InferenceResponse([triton.Tensor(out, t.as_numpy()) for out, t in tensors if t is not None])
