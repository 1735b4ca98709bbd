"""Reads profile_export.json with GenAI-Perf's own parser and prints the averages. usage: genai.py FILE TOKENIZER"""

import json
import sys
from pathlib import Path

from genai_perf.profile_data_parser.llm_profile_data_parser import LLMProfileDataParser
from transformers import AutoTokenizer


class Tokenizer:
    def __init__(self, path):
        self.inner = AutoTokenizer.from_pretrained(path)

    def __call__(self, text, **_):
        return self.inner(text, add_special_tokens=False)

    def encode(self, text, **_):
        return self.inner.encode(text, add_special_tokens=False)


parser = LLMProfileDataParser(filename=Path(sys.argv[1]), tokenizer=Tokenizer(sys.argv[2]))
stats = parser.get_statistics("concurrency", "4")
names = ["time_to_first_token", "time_to_second_token", "request_latency", "inter_token_latency", "output_sequence_length", "request_throughput"]
print(json.dumps({n: stats.stats_dict[n] for n in names if n in stats.stats_dict}, default=str))
