"""Both ends of the chain of a language model: preprocessing, a number a word, and postprocessing, a word a number."""

import zlib

import numpy
import triton_python_backend_utils as triton


def take(request, name):
    return triton.get_input_tensor_by_name(request, name).as_numpy()


class TritonPythonModel:
    def initialize(self, args):
        self.run = self.ids if args["model_name"] == "preprocessing" else self.text

    def execute(self, requests):
        return [triton.InferenceResponse(self.run(request)) for request in requests]

    def ids(self, request):
        words = take(request, "QUERY").reshape(-1)[0].split() or [b""]
        row = numpy.array([[zlib.crc32(word) % 32000 for word in words]], numpy.int32)
        return [
            triton.Tensor("INPUT_ID", row),
            triton.Tensor("REQUEST_INPUT_LEN", numpy.array([[len(words)]], numpy.int32)),
            triton.Tensor("REQUEST_OUTPUT_LEN", take(request, "REQUEST_OUTPUT_LEN").astype(numpy.int32)),
        ]

    def text(self, request):
        words = "".join(f" word{number}" for number in take(request, "TOKENS_BATCH").reshape(-1))
        return [triton.Tensor("OUTPUT", numpy.array([[words.encode()]], numpy.object_))]
