#!/usr/bin/env bash
# Installs the real peers of the end-to-end tests, or says loudly that they will not be tested against.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${XDG_CACHE_HOME:-$HOME/.cache}/redline/peers
bash e2e/peers/install.sh "$dir" || echo "**** the real Triton and perf_analyzer could not be installed: CONFORMANCE IS NOT TESTED ****"
