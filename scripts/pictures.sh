#!/usr/bin/env bash
# Makes the pictures of the report page in docs/img: measures the embedded server as `make demo` does, and takes pictures of
# the page with Chromium, which is installed into the cache folder if this machine has none. Run it while the machine is idle:
# the pictures show a real measurement.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
[ -n "${REDLINE_BIN:-}" ] || CGO_ENABLED=0 go build -trimpath -o bin/redline ./cmd/redline
out=$(mktemp -d "${TMPDIR:-/tmp}/redline-pictures.XXXXXX")
trap 'rm -rf "$out"' EXIT
# The exit code is 2 if a level did not become stable; the page then says so.
"${REDLINE_BIN:-bin/redline}" profile --embedded -m simple -i grpc --concurrency-range 1:7:2 -p 1000 --no-history --quiet \
  --report "$out/report.html" || [ $? -eq 2 ]
go run ./e2e/browser/pictures "$out/report.html" docs/img
