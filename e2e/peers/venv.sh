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
# Installing pip into each environment takes seconds. The machine's own serves all, if it is there and not older than 22.3.
if python3 -m pip --python "$(command -v python3)" --version >/dev/null 2>&1; then
  python3 -m venv --without-pip "$dir"
  pip=(python3 -m pip --python "$dir/bin/python")
else
  python3 -m venv "$dir"
  pip=("$dir/bin/pip")
fi
# Python compiles the modules that are used when they are used first.
pip() { "${pip[@]}" --quiet --disable-pip-version-check install --no-compile "$@"; }
whole=()
while [ $# -gt 0 ] && [ "$1" != --no-deps ]; do
  whole+=("$1")
  shift
done
[ ${#whole[@]} = 0 ] || pip "${whole[@]}"
[ $# = 0 ] || pip "$@"
touch "$dir/ready"
