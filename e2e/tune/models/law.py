"""Gives each input back after a time that follows a law.

Parameters: base_ms is the time of an execution; free_items are the elements of a batch that cost nothing more, and item_ms is the time of
each further one; crowd_above and crowd_share make the time longer by a share for each instance above a number.
"""

import json
import time

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        instances = sum(int(g.get("count", 1)) for g in config["instance_group"])
        crowd = max(0, instances - self.number(config, "crowd_above", instances)) * self.number(config, "crowd_share", 0)
        self.base = self.number(config, "base_ms", 20) / 1000 * (1 + crowd)
        self.free = self.number(config, "free_items", 0)
        self.item = self.number(config, "item_ms", 0) / 1000

    @staticmethod
    def number(config, name, otherwise):
        return int(config.get("parameters", {}).get(name, {}).get("string_value", otherwise))

    def execute(self, requests):
        tensors = [triton.get_input_tensor_by_name(r, "INPUT0").as_numpy() for r in requests]
        items = sum(t.shape[0] for t in tensors)
        time.sleep(self.base + max(0, items - self.free) * self.item)
        return [triton.InferenceResponse([triton.Tensor("OUTPUT0", t)]) for t in tensors]
