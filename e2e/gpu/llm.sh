#!/usr/bin/env bash
# Measures the language model of llm_server.py on this machine's GPU with redline llm, and holds the client's times
# against the server's own log. Writes everything into the folder given.
#   e2e/gpu/llm.sh REDLINE OUT
set -euo pipefail
redline=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
python3 "$here/llm_server.py" --port 9100 --log "$out/server.jsonl" >"$out/server.txt" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 120); do
  grep -q '^ready' "$out/server.txt" && break
  kill -0 $server || { cat "$out/server.txt"; exit 1; }
  sleep 1
done
cat "$out/server.txt"
export REDLINE_HISTORY=off
"$redline" llm -m gpu-llm -u 127.0.0.1:9100 --endpoint-type chat --streaming --concurrency 1,8,32,64 \
  --synthetic-input-tokens-mean 128 --output-tokens-mean 64 --request-count 64 --warmup-request-count 8 --use-server-token-count \
  --artifact-dir "$out/artifacts" --json "$out/result.json" --report "$out/report.html" | tee "$out/console.txt"
python3 "$here/check_log.py" "$out"
