"""Models of MLServer that return their input. Each writes to a file how many requests and items it was given."""

import json
import os

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class Echo(MLModel):
    async def load(self):
        self.count = {"requests": 0, "items": 0}
        return True

    def read(self, payload):
        """Counts a request and returns its input."""
        array = NumpyCodec.decode_input(payload.inputs[0])
        self.count["requests"] += 1
        self.count["items"] += array.shape[0]
        with open(os.path.join(os.environ["COUNTS"], self.name), "w") as f:
            json.dump(self.count, f)
        return array

    def respond(self, array):
        return InferenceResponse(model_name=self.name, outputs=[NumpyCodec.encode_output(name="OUT", payload=array)])

    async def predict(self, payload):
        return self.respond(self.read(payload))


class Three(Echo):
    """A model that answers a request to its stream with three responses."""

    async def predict_stream(self, payloads):
        async for payload in payloads:
            array = self.read(payload)
            for _ in range(3):
                yield self.respond(array)
