#!/usr/bin/env bash
# Makes the pictures of pages in docs/img: measures the reference server, and takes pictures of the pages with Chromium, which is
# installed into the cache folder if this machine has none. The loads are small, and a run whose verdict is not valid is repeated;
# on an idle machine all pictures take about five minutes.
# Usage: pictures.sh [report] [scenario] [find]; all without an argument.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
[ -n "${REDLINE_BIN:-}" ] || CGO_ENABLED=0 go build -trimpath -o bin/redline ./cmd/redline
bin=$(realpath "${REDLINE_BIN:-bin/redline}")
to=$(realpath docs/img)
go build -trimpath -o bin/pictures ./e2e/browser/pictures
pictures=$(realpath bin/pictures)
out=$(mktemp -d "${TMPDIR:-/tmp}/redline-pictures.XXXXXX")
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$out"' EXIT
export REDLINE_HISTORY=off

# measure NAME COMMAND... runs redline until its verdict is valid and its answer confirmed, at most five times, and writes NAME.html. The page shows the
# command line, so the run is in the folder of its page.
measure() {
  local name=$1
  shift
  for _ in 1 2 3 4 5; do
    (cd "$out" && "$bin" "$@" --report "$name.html" --json "$name.json") >"$out/$name.out" 2>&1 || true
    if grep -q '^Verdict: valid' "$out/$name.out" && ! grep -q '^No capacity\|^  not confirmed' "$out/$name.out"; then return 0; fi
    grep '^Verdict:\|^  not confirmed' "$out/$name.out" >&2 || tail -1 "$out/$name.out" >&2
  done
  echo "$name: no run was valid and confirmed; run this again while the machine is idle" >&2
  return 1
}

# model NAME WORKERS MS adds a model with workers that take so many milliseconds for each request.
model() {
  mkdir -p "$out/models/$1/1"
  cat >"$out/models/$1/config.pbtxt" <<PBTXT
name: "$1"
backend: "delay"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: $2 kind: KIND_CPU } ]
parameters [ { key: "execute_delay_ms" value: { string_value: "$3" } }, { key: "gapless" value: { string_value: "true" } } ]
PBTXT
}
model resnet50 8 20 # its capacity is below 400 requests/s
model detector 16 200
"$bin" serve --http-port 0 --grpc-port 0 --metrics-port 0 --model-repository "$out/models" --delay simple=20ms --ttft 250ms --itl 20ms >"$out/ready" &
server=$!
until [ -s "$out/ready" ]; do kill -0 "$server"; sleep 0.1; done
port() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$out/ready"; }
grpc=localhost:$(port grpc) openai=localhost:$(port openai)

cat >"$out/assistant.yaml" <<YAML
name: search assistant
seed: 1
stages:
  - {from: 4, to: 16, for: 8s}
  - {rate: 16, for: 8s}
  - {rate: 32, for: 4s}
  - {rate: 12, for: 8s}
classes:
  chat:
    weight: 1
    llm: {model: assistant, url: "$openai", streaming: true, synthetic-input-tokens-mean: 100, output-tokens-mean: 16}
    objectives: [ttft.p90<1s]
  embeddings:
    weight: 4
    llm: {model: embedder, url: "$openai", endpoint-type: embeddings, synthetic-input-tokens-mean: 20}
    objectives: [p90<1s]
  images:
    weight: 3
    profile: {model: detector, url: "$grpc", protocol: grpc, warmup-request-count: 10}
    objectives: [p90<1s]
YAML

[ $# -gt 0 ] || set -- report scenario find
for part; do
  case $part in
    report)
      measure report profile -m simple -u "$grpc" -i grpc --concurrency-range 1:7:2 -p 1s
      "$pictures" "$out/report.html" "$to" report.png:1200:light report-dark.png:1200:dark report-phone.png:400:light
      ;;
    scenario)
      measure scenario run assistant.yaml
      "$pictures" "$out/scenario.html" "$to" scenario.png:1200:light:classes
      ;;
    find)
      measure find find profile -m resnet50 -u "$grpc" -i grpc --slo 'avg<25ms' --slo 'p95<45ms' --probe-max 20s --confirm 30s --resolution 5%
      "$pictures" "$out/find.html" "$to" find.png:1200:light:capacity
      ;;
    *) echo "unknown picture $part; use report, scenario or find" >&2; exit 2 ;;
  esac
done
