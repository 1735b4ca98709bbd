"""Reads a folder of Redline's files with AIPerf's own models and loaders, and prints what they hold as JSON."""

import json
import sys
from pathlib import Path

import numpy as np
from aiperf.common.models.export_models import JsonExportData, JsonMetricResult, TimesliceCollectionExportData
from aiperf.common.models.record_models import MetricRecordInfo, RawRecordInfo
from aiperf.dataset.loader.inputs_json import InputsJsonPayloadLoader
from aiperf.plot.core.data_loader import DataLoader

folder = Path(sys.argv[1])
text = (folder / "profile_export_aiperf.json").read_text()
summary = JsonExportData.model_validate_json(text)
metrics = JsonMetricResult.project_summary_dict(json.loads(text))
slices = TimesliceCollectionExportData.model_validate_json((folder / "profile_export_aiperf_timeslices.json").read_text())
records = [MetricRecordInfo.model_validate_json(line) for line in (folder / "profile_export.jsonl").open()]
raw = [RawRecordInfo.model_validate_json(line) for line in (folder / "profile_export_raw.jsonl").open()]
run = DataLoader().load_run(folder)
inputs = folder / "inputs.json"
loader = InputsJsonPayloadLoader(filename=inputs)

# The numbers of the summary again, out of the records as AIPerf's plots see them.
table = run.requests[run.requests["request_latency"].notna()]
compared, different = 0, []
for tag, m in metrics.items():
    if m.p50 is None or tag not in table:
        continue
    values = table[tag].dropna().to_numpy(float)
    again = {f"p{p}": np.percentile(values, p) for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    again |= {"avg": values.mean(), "std": values.std(), "min": values.min(), "max": values.max(), "sum": values.sum(), "count": len(values)}
    for stat, value in again.items():
        compared += 1
        if not np.isclose(value, getattr(m, stat), rtol=1e-9, atol=1e-9):
            different.append(f"{tag}.{stat}: {value} from the records, {getattr(m, stat)} in the summary")

print(
    json.dumps(
        {
            "schema": summary.schema_version,
            "model": run.metadata.model,
            "concurrency": run.metadata.concurrency,
            "slices": len(slices.timeslices),
            "records": len(records),
            "errors": sum(r.error is not None for r in records),
            "raw": len(raw),
            "events": sum(len(r.responses) for r in raw),
            "inputs_accepted": InputsJsonPayloadLoader.can_load(filename=inputs),
            "sessions": len(loader.convert_to_conversations(loader.load_dataset())),
            "compared": compared,
            "different": different,
        }
    )
)
