#!/usr/bin/env bash
# Installs a Python program into a folder of its own, once: install.sh LIST DIR. The list names every package with
# its version, so that nothing is resolved and nothing that a test does not need is fetched.
set -euo pipefail
list=$1 dir=$2
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
[ -e "$dir/ready" ] && exit 0
echo "installing $(basename "$list" .txt)" >&2
python3 -m venv "$dir"
"$dir/bin/pip" --quiet --disable-pip-version-check install --no-cache-dir --no-deps --requirement "$list"
touch "$dir/ready"
