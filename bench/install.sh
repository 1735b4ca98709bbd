#!/usr/bin/env bash
# Unpacks wrk and h2load from Debian's packages into a folder, once, with the libraries that they need and this
# machine lacks. Nothing is installed on the machine itself. Usage: install.sh DIR
#
# install.sh DIR guidellm puts GuideLLM from PyPI beside DIR. It takes 6 GB, most of it CUDA for a PyTorch that only loads
# its data; so make bench does without it unless it is there.
set -euo pipefail
dir=$1
if [ "${2:-}" = guidellm ]; then
  venv=$(dirname "$dir")/guidellm-0.8.1
  [ -e "$venv/ready" ] && exit 0
  mkdir -p "$venv"
  exec 9>"$venv.lock"
  flock 9
  [ -e "$venv/ready" ] && exit 0
  python3 -m venv "$venv"
  "$venv/bin/pip" --quiet --disable-pip-version-check install --no-cache-dir guidellm==0.8.1
  "$venv/bin/guidellm" --version
  touch "$venv/ready"
  exit 0
fi
[ -e "$dir/ready-1" ] && exit 0
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
[ -e "$dir/ready-1" ] && exit 0
mkdir -p "$dir"/{state/lists/partial,cache/archives/partial,unpacked}
apt=(apt-get -qq -o Dir::State::lists="$dir/state/lists" -o Dir::Cache="$dir/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" install --download-only --reinstall -y --no-install-recommends wrk nghttp2-client
for package in "$dir"/cache/archives/*.deb; do dpkg -x "$package" "$dir/unpacked"; done
rm -rf "${dir:?}/cache" "${dir:?}/state"
lib=$(echo "$dir"/unpacked/usr/lib/*-linux-gnu)
for program in wrk h2load; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$lib" "$dir/unpacked/usr/bin/$program" >"$dir/$program"
  chmod +x "$dir/$program"
done
{ "$dir/wrk" -v || true; } | grep -q '^wrk' # it exits with 1
"$dir/h2load" --version | grep -q '^h2load'
touch "$dir/ready-1"
