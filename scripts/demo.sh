#!/usr/bin/env bash
# A demo of under a minute: build, start the embedded server, measure the model `simple` over gRPC at several concurrencies,
# show the report, keep the files.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
[ -n "${REDLINE_BIN:-}" ] || { CGO_ENABLED=0 go build -trimpath -o bin/redline ./cmd/redline; ln -sf redline bin/perf_analyzer; }
out=$(mktemp -d "${TMPDIR:-/tmp}/redline-demo.XXXXXX")
${REDLINE_BIN:-bin/redline} profile --embedded -m simple -i grpc --concurrency-range 1:7:2 \
  -p 300 -r 10 -s 100 -f "$out/latency.csv" --profile-export-file "$out/requests.json" --json "$out/result.json" \
  --report "$out/report.html"
echo
echo "report: $out/report.html (open it in a browser)"
echo "result files: $out"
ls -l "$out" | awk 'NR>1 {printf "  %-14s %10s bytes\n", $9, $5}'
