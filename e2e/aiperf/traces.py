"""Reads traces with AIPerf's own loaders, and prints their sessions as lists of time, input and output length.

usage: traces.py BAILIAN_FILE BURSTGPT_FILE SERVER_METRICS_FILE CAPTURE_FOLDER
"""

import json
import sys
from types import SimpleNamespace

from aiperf.common.models.server_metrics_models import ServerMetricsExportData
from aiperf.dataset.loader.bailian_trace import BailianTraceDatasetLoader
from aiperf.dataset.loader.burst_gpt import BurstGPTTraceDatasetLoader
from aiperf.dataset.loader.sagemaker_data_capture import SageMakerDataCaptureLoader

generator = SimpleNamespace(
    _hash_id_corpus_rng=SimpleNamespace(set_trace_id=lambda _: None),
    _cache={},
    tokenizer=SimpleNamespace(resolved_name="none", trust_remote_code=False, revision=None),
)

out = {}
for name, loader, file in (
    ("bailian", BailianTraceDatasetLoader, sys.argv[1]),
    ("burst", BurstGPTTraceDatasetLoader, sys.argv[2]),
):
    sessions = loader(filename=file, prompt_generator=generator).load_dataset()
    out[name] = [[[t.timestamp, t.input_length, t.output_length] for t in s] for s in sessions.values()]

sessions = SageMakerDataCaptureLoader(filename=sys.argv[4], prompt_generator=generator).load_dataset()
out["captured"] = [
    [t.timestamp, [m["content"] for m in t.messages], t.output_length or 0, bool(t.tools)] for s in sessions.values() for t in s
]

metrics = ServerMetricsExportData.model_validate_json(open(sys.argv[3]).read())
out["schema"] = metrics.schema_version
out["served"] = metrics.metrics["served"].series[0].stats.total
out["types"] = {name: m.type for name, m in metrics.metrics.items()}
print(json.dumps(out))
