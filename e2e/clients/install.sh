#!/usr/bin/env bash
# Puts the Python packages that the client scripts need into a folder of the user's cache, once. tritonclient itself is
# not among them: the scripts use the peers' copy. Usage: install.sh DIR. Needs python3 with venv.
set -euo pipefail
source "$(dirname "$0")/../peers/uv.sh"
dir=$1
stamp=$dir/ready-3
[ -e "$stamp" ] && exit 0
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
[ -e "$stamp" ] && exit 0
echo "installing the packages of the client scripts" >&2
install() { uv pip install --python "$(command -v python3)" --target "$dir" "$@"; }
install 'numpy<3' grpcio==1.85.1 grpcio-health-checking==1.85.1 grpcio-reflection==1.85.1 aiohttp==3.14.5 geventhttpclient==2.6.1 \
  python-rapidjson==1.25 openai==3.49.0 anthropic==2.8.0
# The protocol of TensorFlow Serving alone, without TensorFlow. Its own pins are far older than what the others need.
install --no-deps min-tfs-client==1.0.2
touch "$stamp"
