#!/usr/bin/env bash
# Runs every unit test COUNT times (default 10), shuffled, with the race detector, beside as many busy processes as there are
# cores, and prints what failed and how often. PACKAGES limits it to some packages.
set -euo pipefail
cd "$(dirname "$0")/.."
# internal/measure takes longest and begins first.
export COUNT=${COUNT:-10} PACKAGES=${PACKAGES:-./internal/measure . ./cmd/... ./internal/...}
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT
for _ in $(seq "$(nproc)"); do
  # The limit ends the busy processes even if this script is killed.
  timeout 7200 sh -c 'while :; do :; done' &
  busy+=($!)
done
go run -C tools ./testrun -dir "$PWD" race-packages
