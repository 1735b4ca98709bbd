#!/usr/bin/env bash
# Installs the real peers of the end-to-end tests into the user's cache folder. If a peer cannot be installed, its tests do not
# run, and the summary of `make test` says so. With CI=true this is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./e2e/peers/prefetch ${REDLINE_HEAVY:+-heavy} || [ "${CI:-}" != true ]
