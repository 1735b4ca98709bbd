"""Reads pages of DCGM's exporter with AIPerf's own collector, and our files of GPUs with AIPerf's own models.

usage: gpu.py PAGES_JSON GPU_TELEMETRY_JSONL SUMMARY_JSON
"""

import json
import sys

from aiperf.common.models import TelemetryRecord
from aiperf.common.models.export_models import JsonExportData
from aiperf.common.models.telemetry_models import TelemetryHierarchy
from aiperf.gpu_telemetry.constants import GPU_TELEMETRY_COUNTER_METRICS, GPU_TELEMETRY_METRICS_CONFIG
from aiperf.gpu_telemetry.dcgm_collector import DCGMTelemetryCollector

pages = json.load(open(sys.argv[1]))
lines = [TelemetryRecord.model_validate_json(line) for line in open(sys.argv[2])]
summary = JsonExportData.model_validate_json(open(sys.argv[3]).read()).telemetry_data

def plain(record):
    return record.model_dump(exclude_none=True, exclude={"timestamp_ns", "telemetry_source_url"})

collector = DCGMTelemetryCollector(dcgm_url="http://host/metrics")
theirs = [[plain(r) for r in collector._parse_metrics_to_records(page)] for page in pages]

hierarchy = TelemetryHierarchy()
for line in lines:
    hierarchy.add_record(line)
units = {key: str(unit.value) for _, key, unit in GPU_TELEMETRY_METRICS_CONFIG}
differ = []
for endpoint in summary.endpoints.values():
    for gpu in endpoint.gpus.values():
        data = hierarchy.telemetry_source_endpoints[lines[0].telemetry_source_url][gpu.gpu_uuid]
        for key, ours in gpu.metrics.items():
            if ours.unit != units[key]:
                differ.append(f"{key}: unit {ours.unit}, AIPerf's {units[key]}")
            if key in GPU_TELEMETRY_COUNTER_METRICS:
                continue
            result = data.get_metric_result(key, key, key, units[key])
            for stat in ("avg", "min", "max", "std", "p50", "p99"):
                if abs(getattr(ours, stat) - getattr(result, stat)) > 1e-9 * max(1, abs(getattr(result, stat))):
                    differ.append(f"{gpu.gpu_uuid} {key} {stat}: {getattr(ours, stat)}, AIPerf's {getattr(result, stat)}")

print(json.dumps({
    "theirs": theirs,
    "ours": [plain(r) for r in lines[-len(theirs[0]):]],
    "lines": len(lines),
    "gpus": sum(len(e.gpus) for e in summary.endpoints.values()),
    "energy": [g.metrics["nvidia_energy_consumption"].avg for e in summary.endpoints.values() for g in e.gpus.values()],
    "differ": differ,
}))
