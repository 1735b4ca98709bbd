#!/usr/bin/env bash
# Records the responses of a real vLLM that `make test` replays, in testdata/recorded. Run it after a change of Version in server.go, of
# testdata/prompts.jsonl, or of what requests ask for.
set -euo pipefail
cd "$(dirname "$0")/../.."
make redline
REDLINE_HEAVY=1 REDLINE_BIN_DIR=$PWD/bin CGO_ENABLED=0 go test -count=1 -timeout 30m -run '^TestRecord$' ./e2e/vllm -record
