#!/usr/bin/env bash
# Measures shared memory of each kind (none, system, cuda) with the real Triton on a machine with a GPU, over gRPC, over HTTP
# and in process. Every answer is compared with the input: the model gives it back. First the script makes sure that the
# server's answers are whole, and that a wrong value is found with each kind. Writes everything into the folder given.
#   e2e/gpu/shared_memory.sh PEERS BIN OUT
# PEERS is the folder that e2e/peers/install.sh filled, for the Python of this machine. BIN has redline-native.
set -euo pipefail
peers=$(realpath "$1") bin=$(realpath "$2") out=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out/models/custom_identity_fp32/1"
out=$(realpath "$out")
cp "$here/../models/identity.py" "$out/models/custom_identity_fp32/1/"
cp "$here/../models/identity_fp32.pbtxt" "$out/models/custom_identity_fp32/config.pbtxt"
python3 "$here/tensor_files.py" "$out"
ln -sf "$bin/redline-native" "$out/perf_analyzer"

home=$peers/server/pytriton/tritonserver
# In process, the library and the backends lie as in an installation.
mkdir -p "$out/triton/lib"
ln -sf "$peers"/server/nvidia_pytriton.libs/libtritonserver-*.so "$out/triton/lib/libtritonserver.so"
ln -sfn "$home/backends" "$out/triton/backends"
libraries=$(python3 -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))'):$peers/server/nvidia_pytriton.libs
export REDLINE_HISTORY=off LD_LIBRARY_PATH=$peers/cudart/nvidia/cuda_runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH LD_LIBRARY_PATH=$libraries:$LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1 \
  "$home/bin/tritonserver" --model-repository="$out/models" --backend-directory="$home/backends" --http-port=9200 --grpc-port=9201 \
  --metrics-port=9202 --http-address=127.0.0.1 --grpc-address=127.0.0.1 >"$out/triton.log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 60); do
  curl -sf http://127.0.0.1:9200/v2/health/ready && break
  kill -0 $server || { tail -20 "$out/triton.log"; exit 1; }
  sleep 1
done
python3 "$here/whole_answer.py" 127.0.0.1:9200

# run PROGRAM DATA WAY KIND: one measurement; prints the inferences a second.
run() {
  local program=$1 data=$2 way=$3 kind=$4 where
  case $way in
  grpc) where="-i grpc -u 127.0.0.1:9201" ;;
  http) where="-i http -u 127.0.0.1:9200" ;;
  process) where="--service-kind triton_c_api --triton-server-directory $out/triton --model-repository $out/models" ;;
  esac
  local memory=
  [ "$kind" = none ] || memory="--shared-memory $kind --output-shared-memory-size 1048576"
  # shellcheck disable=SC2086
  PATH=$out:$PATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH$([ "$way" != process ] || echo ":$libraries") timeout 120 \
    "$program" -m custom_identity_fp32 $where $memory --shape INPUT0:262144 --input-data "$out/$data.json" --concurrency-range 4 -p 2000 -r 5 \
    >"$out/last.txt" 2>&1
}
throughput() { sed -n 's/.*Throughput: \([0-9.]*\) infer.*/\1/p' "$out/last.txt" | tail -1; }
regions() { curl -sf "http://127.0.0.1:9200/v2/$1sharedmemory/status"; }

failed=0
for way in grpc http; do
  for kind in none system cuda; do
    if run "$out/perf_analyzer" wrong $way $kind; then
      echo "FAILED: $way, $kind: a wrong value was not found"; failed=1
    elif ! grep -qi "match" "$out/last.txt"; then
      echo "FAILED: $way, $kind: the run failed for another reason than the wrong value"; tail -5 "$out/last.txt"; failed=1
    fi
  done
done
for way in grpc http process; do
  for kind in none system cuda; do
    if run "$out/perf_analyzer" right $way $kind; then
      echo "$way, Redline, $kind: $(throughput) infer/sec, every answer compared"
    else
      echo "FAILED: $way, Redline, $kind"; tail -5 "$out/last.txt"; failed=1
    fi
  done
done
# perf_analyzer cannot compare answers in shared memory: it is given the input alone.
[ ! -x "$peers/client/bin/perf_analyzer" ] || for kind in none system cuda; do
  if run "$peers/client/bin/perf_analyzer" input grpc $kind; then
    echo "grpc, perf_analyzer, $kind: $(throughput) infer/sec, answers not compared"
  else
    echo "grpc, perf_analyzer, $kind: failed"; tail -5 "$out/last.txt"
  fi
done
for kind in cuda system; do
  left=$(regions $kind)
  [ "$left" = "[]" ] || { echo "FAILED: regions left in the server: $left"; failed=1; }
done
exit $failed
