#!/usr/bin/env bash
# Installs the real peers of the end-to-end tests into the user's cache folder. One that cannot be installed is not tested
# against: its tests say so in the summary of `make test`. With CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./e2e/peers/prefetch ${REDLINE_HEAVY:+-heavy} || [ "${CI:-}" != true ]
