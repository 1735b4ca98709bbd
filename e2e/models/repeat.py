"""Decoupled: one response for each element of IN, DELAY milliseconds apart, then the empty final one.

It answers within execute(), which is steady under load; its instances make it concurrent.
"""

import time

import numpy
import triton_python_backend_utils as triton


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            values, delays = (triton.get_input_tensor_by_name(request, name).as_numpy() for name in ("IN", "DELAY"))
            sender = request.get_response_sender()
            for index, value in enumerate(values):
                time.sleep(delays[index % len(delays)] / 1000 if len(delays) else 0)
                sender.send(triton.InferenceResponse([
                    triton.Tensor("OUT", numpy.array([value], numpy.int32)),
                    triton.Tensor("IDX", numpy.array([index], numpy.uint32)),
                ]))
            sender.send(flags=triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
