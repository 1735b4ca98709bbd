"""The running sum of a sequence, whose correlation id may be a text: it is asked of the request, not taken as a tensor."""

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        start, end, ready = (
            triton.get_input_tensor_by_name(request, name).as_numpy().flat[0] for name in ("START", "END", "READY")
        )
        value = triton.get_input_tensor_by_name(request, "INPUT").as_numpy()
        sequence = request.correlation_id()
        if ready:
            value = value if start else value + self.sums.get(sequence, 0)
            self.sums[sequence] = value
        if end:
            self.sums.pop(sequence, None)
        return triton.InferenceResponse([triton.Tensor("OUTPUT", value)])
