"""The running sum of a sequence: START sets it, every other request adds to it.

The parameter delay_ms sleeps once an execution.
"""

import json
import time

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}
        parameters = json.loads(args["model_config"]).get("parameters", {})
        self.delay = int(parameters.get("delay_ms", {}).get("string_value", "0")) / 1000

    def execute(self, requests):
        time.sleep(self.delay)
        return [self.answer(request) for request in requests]

    def answer(self, request):
        start, end, ready, sequence = (
            triton.get_input_tensor_by_name(request, name).as_numpy().flat[0] for name in ("START", "END", "READY", "CORRID")
        )
        value = triton.get_input_tensor_by_name(request, "INPUT").as_numpy()
        if ready:
            value = value if start else value + self.sums.get(sequence, 0)
            self.sums[sequence] = value
        if end:
            self.sums.pop(sequence, None)
        return triton.InferenceResponse([triton.Tensor("OUTPUT", value)])
