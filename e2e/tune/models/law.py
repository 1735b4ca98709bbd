"""Gives each input back after a time that follows a law.

Parameters: base_ms is the time of an execution; free_items are the elements of a batch that cost nothing more, and item_ms is the time of
each further one; crowd_above and crowd_share make the time longer by a share for each instance above a number. With more instances than
crash_above, each execution ends the process of its instance, until the model is loaded anew.

Triton adds and removes instances without loading the model again: its configuration does not tell an instance how many there are. Each one
has a file beside the repository, by the number of its process.
"""

import json
import os
import time

import triton_python_backend_utils as triton


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.base = self.number(config, "base_ms", 20) / 1000
        self.free = self.number(config, "free_items", 0)
        self.item = self.number(config, "item_ms", 0) / 1000
        self.above = self.number(config, "crowd_above", 1000)
        self.share = self.number(config, "crowd_share", 0)
        self.folder = os.path.join(os.path.dirname(os.path.dirname(args["model_repository"])), "instances_" + args["model_name"])
        os.makedirs(self.folder, exist_ok=True)
        self.file = os.path.join(self.folder, str(os.getpid()))
        open(self.file, "w").close()
        self.crash = os.path.join(self.folder, "crash")
        place = int(args["model_instance_name"].rsplit("_", 1)[1])
        if place >= self.number(config, "crash_above", 1000):
            open(self.crash, "w").close()
        elif place == 0 and os.path.exists(self.crash):
            os.remove(self.crash)

    def finalize(self):
        os.remove(self.file)

    @staticmethod
    def number(config, name, otherwise):
        return int(config.get("parameters", {}).get(name, {}).get("string_value", otherwise))

    def crowd(self):
        alive = sum(os.path.exists("/proc/" + pid) for pid in os.listdir(self.folder))
        return 1 + max(0, alive - self.above) * self.share

    def execute(self, requests):
        tensors = [triton.get_input_tensor_by_name(r, "INPUT0").as_numpy() for r in requests]
        items = sum(t.shape[0] for t in tensors)
        if os.path.exists(self.crash):
            os._exit(1)
        time.sleep(self.base * self.crowd() + max(0, items - self.free) * self.item)
        return [triton.InferenceResponse([triton.Tensor("OUTPUT0", t)]) for t in tensors]
