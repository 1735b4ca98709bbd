"""Reads files of prompts with AIPerf's own loaders and prints the conversations, a JSON list a file.

usage: loaders.py FORMAT FILE [FORMAT FILE ...]
"""

import json
import sys
from types import SimpleNamespace

from aiperf.dataset.loader.inputs_json import InputsJsonPayloadLoader
from aiperf.dataset.loader.mooncake_trace import MooncakeTraceDatasetLoader
from aiperf.dataset.loader.multi_turn import MultiTurnDatasetLoader
from aiperf.dataset.loader.raw_payload import RawPayloadDatasetLoader
from aiperf.dataset.loader.single_turn import SingleTurnDatasetLoader

loaders = {
    "single_turn": SingleTurnDatasetLoader,
    "multi_turn": MultiTurnDatasetLoader,
    "mooncake_trace": MooncakeTraceDatasetLoader,
    "raw_payload": RawPayloadDatasetLoader,
    "inputs_json": InputsJsonPayloadLoader,
}

# The traces of the test have their texts in them, so that nothing is made.
generator = SimpleNamespace(
    _hash_id_corpus_rng=SimpleNamespace(set_trace_id=lambda _: None),
    _cache={},
    tokenizer=SimpleNamespace(resolved_name="none", trust_remote_code=False, revision=None),
)


def turn(t):
    out = {"timestamp": t.timestamp, "delay": t.delay, "max_tokens": t.max_tokens, "role": t.role}
    out["texts"] = [c for x in t.texts for c in x.contents]
    out["images"] = [c for x in t.images for c in x.contents]
    out["extra"], out["raw"], out["messages"] = t.extra_body, t.raw_payload, t.raw_messages
    return {k: v for k, v in out.items() if v not in (None, [], {})}


for form, file in zip(sys.argv[1::2], sys.argv[2::2]):
    args = {"filename": file}
    if form == "mooncake_trace":
        args["prompt_generator"] = generator
    loader = loaders[form](**args)
    print(json.dumps([[turn(t) for t in c.turns] for c in loader.convert_to_conversations(loader.load_dataset())]))
