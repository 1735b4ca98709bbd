"""Lays out hash blocks with AIPerf's own generator, and prints what comes out as a JSON list.

usage: blocks.py CASES, where a case is [tokens, [ids], block size]. The answer to a case is the number of the first block
with the same tokens for each of its blocks, in the order of all cases; or null where AIPerf refuses it.
"""

import json
import sys

from aiperf.common import random_generator as rng
from aiperf.common.enums import PromptCorpus
from aiperf.common.exceptions import ConfigurationError
from aiperf.common.hash_id_random_generator import HashIdRandomGenerator
from aiperf.dataset.generator.prompt import PromptGenerator


class Bytes:
    """A tokenizer whose tokens are bytes."""

    block_separation_token_id = 10
    resolved_name = "bytes"

    def encode(self, text, **_):
        return list(text.encode())

    def decode(self, ids, **_):
        return bytes(ids).decode(errors="replace")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


rng.init(1)
generator = PromptGenerator.__new__(PromptGenerator)
corpus = rng.derive("corpus")
generator.__dict__.update(
    tokenizer=Bytes(),
    _cache={},
    _tokenized_corpus=[(i * i * 31 + i // 7) % 251 for i in range(200_000)],
    _corpus_size=200_000,
    is_enabled_for=lambda *_: False,
    _corpus=PromptCorpus.SONNET,
    _corpus_rng=corpus,
    _hash_id_corpus_rng=HashIdRandomGenerator.from_base_rng(corpus),
)
out, known = [], {}
for tokens, ids, size in json.loads(sys.argv[1]):
    try:
        text = generator._build_token_sequence(tokens, ids, size)
    except ConfigurationError:
        out.append(None)
        continue
    assert len(text) == tokens
    blocks = [tuple(text[i : i + size]) for i in range(0, tokens, size)]
    out.append([known.setdefault(b, len(known)) for b in blocks])
print(json.dumps(out))
