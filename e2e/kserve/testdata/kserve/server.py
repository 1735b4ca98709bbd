"""KServe's runtime with a model that returns its input and writes to a file how many requests and items it was given.

Usage: server.py HTTP_PORT GRPC_PORT
"""

import json
import os
import sys

from kserve import InferOutput, InferResponse, Model, ModelServer


class Echo(Model):
    def __init__(self, name):
        super().__init__(name)
        self.count = {"requests": 0, "items": 0}
        self.ready = True

    def predict(self, payload, headers=None, response_headers=None):
        array = payload.inputs[0].as_numpy()
        self.count["requests"] += 1
        self.count["items"] += array.shape[0]
        with open(os.path.join(os.environ["COUNTS"], self.name), "w") as f:
            json.dump(self.count, f)
        output = InferOutput("OUT", list(array.shape), payload.inputs[0].datatype)
        output.set_data_from_numpy(array, binary_data=False)
        return InferResponse(payload.id, self.name, [output])


ModelServer(http_port=int(sys.argv[1]), grpc_port=int(sys.argv[2]), workers=1).start([Echo("echo")])
