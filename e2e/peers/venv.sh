#!/usr/bin/env bash
# Makes a virtual environment with Python packages from the registry that pip is set up for, once.
# Usage: venv.sh DIR [PACKAGE...] [--no-deps PACKAGE...]: what stands behind --no-deps comes without its dependencies.
# Needs python3 with venv.
set -euo pipefail
dir=$1
shift
# A virtual environment works only where it was made: a lock, not a rename, keeps others away.
exec 9>"$dir.lock"
flock 9
[ -e "$dir/ready" ] && exit 0
rm -rf "$dir"
python3 -m venv "$dir"
# Python compiles the modules that are used when they are used first.
pip() { "$dir/bin/pip" --quiet --disable-pip-version-check install --no-compile "$@"; }
whole=()
while [ $# -gt 0 ] && [ "$1" != --no-deps ]; do
  whole+=("$1")
  shift
done
[ ${#whole[@]} = 0 ] || pip "${whole[@]}"
[ $# = 0 ] || pip "$@"
touch "$dir/ready"
