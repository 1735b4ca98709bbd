#!/usr/bin/env bash
# Makes the pictures of the report page in a folder, docs/img unless one is given: measures the embedded server, and takes
# pictures of the page with Chromium, which is installed into the cache folder if this machine has none. Run it while the
# machine is idle: the pictures show a real measurement. They have the fonts of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
[ -n "${REDLINE_BIN:-}" ] || CGO_ENABLED=0 go build -trimpath -o bin/redline ./cmd/redline
bin=$(realpath "${REDLINE_BIN:-bin/redline}")
out=$(mktemp -d "${TMPDIR:-/tmp}/redline-pictures.XXXXXX")
trap 'rm -rf "$out"' EXIT
# The page shows the command line, so the run is in the folder of its page. It ends with 2 if a level did not become stable.
(cd "$out" && REDLINE_HISTORY=off "$bin" profile --embedded -m simple -i grpc --concurrency-range 1:7:2 -p 1000 --report report.html >/dev/null) ||
  { code=$?; [ "$code" -eq 2 ] && echo "the run was not stable: run this again while the machine is idle" >&2; exit "$code"; }
go run ./e2e/browser/pictures "$out/report.html" "${1:-docs/img}"
