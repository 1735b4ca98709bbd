"""Stands for the models of Triton's own tests of perf_analyzer. The parameter "does" says what it does:

add_sub   OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1, of numbers or of texts that are numbers
zero      every output is zeros of the configured shape
same      each output is the input at its place
sum       the running sum of a sequence
wait      sleeps INPUT0 seconds
fail      answers every request with an error
"""

import json
import time

import numpy
import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.answer = getattr(self, self.config["parameters"]["does"]["string_value"])
        self.types = [triton.triton_string_to_numpy(o["data_type"]) for o in self.config["output"]]
        self.sums = {}

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def given(self, request):
        tensors = (triton.get_input_tensor_by_name(request, i["name"]) for i in self.config["input"])
        return [t.as_numpy() for t in tensors if t is not None]

    def response(self, values):
        outputs = zip(self.config["output"], self.types, values)
        return triton.InferenceResponse([triton.Tensor(o["name"], self.cast(v, t)) for o, t, v in outputs])

    @staticmethod
    def number(value):
        return value.astype(numpy.int64) if value.dtype == numpy.object_ else value

    @staticmethod
    def cast(value, kind):
        if kind == numpy.object_ and value.dtype != numpy.object_:
            return numpy.vectorize(lambda v: str(v).encode(), otypes=[numpy.object_])(value)
        return value.astype(kind)

    def add_sub(self, request):
        left, right = map(self.number, self.given(request))
        return self.response([left + right, left - right])

    def zero(self, request):
        first = self.given(request)[0]
        batch = [first.shape[0]] if self.config["max_batch_size"] else []
        return self.response([numpy.zeros(batch + [int(d) for d in o["dims"]]) for o in self.config["output"]])

    def same(self, request):
        return self.response(self.given(request))

    def sum(self, request):
        flags = (triton.get_input_tensor_by_name(request, name).as_numpy().flat[0] for name in ("START", "END"))
        start, end = flags
        value, sequence = self.number(self.given(request)[0]), request.correlation_id()
        value = value if start else value + self.sums.get(sequence, 0)
        self.sums[sequence] = value
        if end:
            self.sums.pop(sequence, None)
        return self.response([value])

    def wait(self, request):
        value = self.given(request)[0]
        time.sleep(float(value.flat[0]))
        return self.response([value])

    def fail(self, request):
        return triton.InferenceResponse(error=triton.TritonError("'undefined_model' is not found"))
