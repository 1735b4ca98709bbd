"""Holds what redline llm measured against what the server logged for the same requests: the time to the first token
and the time between tokens, by mean and p99 over all requests of the run, the warm-up's too. Times are milliseconds."""
import json
import statistics
import sys
from pathlib import Path

out = Path(sys.argv[1])


def p99(values):
    values = sorted(values)
    return values[min(len(values) - 1, round(0.99 * (len(values) - 1)))]


logged = [json.loads(line) for line in (out / "server.jsonl").open()]
server_first = [(r["written"][0] - r["arrived"]) / 1e6 for r in logged]
server_between = [(r["written"][-1] - r["written"][0]) / 1e6 / max(1, len(r["written"]) - 1) for r in logged]
client_first, client_between = [], []
for path in sorted((out / "artifacts").rglob("profile_export.jsonl")):
    for line in path.open():
        r = json.loads(line)
        m = r["metrics"]
        if r.get("error") or "time_to_first_token" not in m:
            continue
        client_first.append(m["time_to_first_token"]["value"])
        client_between.append(m["inter_token_latency"]["value"])
print(f"{len(client_first)} requests measured, {len(logged)} logged")
for name, c, s in [("time to first token", client_first, server_first), ("time between tokens", client_between, server_between)]:
    print(f"{name}: client mean {statistics.mean(c):.3f} p99 {p99(c):.3f}, server mean {statistics.mean(s):.3f} p99 {p99(s):.3f}, "
          f"difference mean {statistics.mean(c) - statistics.mean(s):+.3f} p99 {p99(c) - p99(s):+.3f} ms")
