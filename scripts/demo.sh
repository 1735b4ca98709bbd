#!/usr/bin/env bash
# A demo of about half a minute: build, start the embedded server with a pinned response time, measure the model `simple` over
# gRPC at several concurrencies until each is stable, show the report, keep the files.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
[ -n "${REDLINE_BIN:-}" ] || { CGO_ENABLED=0 go build -trimpath -o bin/redline ./cmd/redline; ln -sf redline bin/perf_analyzer; }
out=$(mktemp -d "${TMPDIR:-/tmp}/redline-demo.XXXXXX")
# Exit code 2 means that a level did not become stable, as on a busy machine: the report says so, and the demo shows it.
code=0
${REDLINE_BIN:-bin/redline} profile --embedded --embedded-arg --delay --embedded-arg simple=2ms -m simple -i grpc --concurrency-range 1:7:2 \
  -p 1s -r 10 -f "$out/latency.csv" --profile-export-file "$out/requests.json" --json "$out/result.json" \
  --report "$out/report.html" || code=$?
[ "$code" = 0 ] || [ "$code" = 2 ] || exit "$code"
echo
echo "report: $out/report.html (open it in a browser)"
echo "result files: $out"
ls -l "$out" | awk 'NR>1 {printf "  %-14s %10s bytes\n", $9, $5}'
