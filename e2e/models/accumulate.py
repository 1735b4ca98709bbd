"""The running sum of a sequence: START sets it, every other request adds to it."""

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
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
