"""Writes data files of one tensor of 1 MiB into a folder: input.json has the input alone, right.json the output that is
expected too, wrong.json the same with one wrong value."""
import json
import random
import sys
from pathlib import Path

out = Path(sys.argv[1])
count = 1 << 18
random.seed(1)
values = [random.randrange(1 << 20) / 16 for _ in range(count)]  # exact in FP32


def tensor(name, content):
    return {name: {"content": content, "shape": [count]}}


def write(name, **parts):
    (out / f"{name}.json").write_text(json.dumps(parts))


wrong = values.copy()
wrong[count // 2] += 1
data = [tensor("INPUT0", values)]
write("input", data=data)
write("right", data=data, validation_data=[tensor("OUTPUT0", values)])
write("wrong", data=data, validation_data=[tensor("OUTPUT0", wrong)])
