"""Reads profile_export.json with GenAI-Perf's own parser and prints the averages. usage: genai.py FILE TOKENIZER"""

import json
import sys
import tempfile
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


def until_last_text(file):
    """The profile without empty last responses. A server may send the end of a response apart from its last text: GenAI-Perf's times
    last until that end, Redline's until the last text."""
    profile = json.loads(Path(file).read_text())
    for experiment in profile["experiments"]:
        for request in experiment["requests"]:
            if request["response_outputs"][-1] == {"text_output": ""}:
                del request["response_outputs"][-1], request["response_timestamps"][-1]
    return json.dumps(profile)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "profile_export.json")
    file.write_text(until_last_text(sys.argv[1]))
    parser = LLMProfileDataParser(filename=file, tokenizer=Tokenizer(sys.argv[2]))
    stats = parser.get_statistics("concurrency", "4")
names = ["time_to_first_token", "time_to_second_token", "request_latency", "inter_token_latency", "output_sequence_length", "request_throughput"]
print(json.dumps({n: stats.stats_dict[n] for n in names if n in stats.stats_dict}, default=str))
