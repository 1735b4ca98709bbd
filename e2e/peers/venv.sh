#!/usr/bin/env bash
# Makes a virtual environment with Python packages from the registry that pip is set up for, once.
# Usage: venv.sh DIR [PACKAGE...] [--no-deps PACKAGE...]: what stands behind --no-deps comes without its dependencies.
# Needs python3 with venv.
set -euo pipefail
source "$(dirname "$0")/uv.sh"
dir=$1
shift
# A virtual environment works only where it was made: a lock, not a rename, keeps others away.
exec 9>"$dir.lock"
flock 9
[ -e "$dir/ready" ] && exit 0
rm -rf "$dir"
uv venv --python "$(command -v python3)" "$dir"
install() { uv pip install --python "$dir/bin/python" "$@"; }
whole=()
while [ $# -gt 0 ] && [ "$1" != --no-deps ]; do
  whole+=("$1")
  shift
done
[ ${#whole[@]} = 0 ] || install "${whole[@]}"
[ $# = 0 ] || install "$@"
touch "$dir/ready"
