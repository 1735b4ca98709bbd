#!/usr/bin/env bash
# Unpacks wrk and h2load from Debian's packages into a folder, once, with the libraries that they need and this
# machine lacks. Nothing is installed on the machine itself. Usage: install.sh DIR
set -euo pipefail
dir=$1
[ -e "$dir/ready-1" ] && exit 0
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
[ -e "$dir/ready-1" ] && exit 0
mkdir -p "$dir"/{state/lists/partial,cache/archives/partial,root}
apt=(apt-get -qq -o Dir::State::lists="$dir/state/lists" -o Dir::Cache="$dir/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" install --download-only --reinstall -y --no-install-recommends wrk nghttp2-client
for package in "$dir"/cache/archives/*.deb; do dpkg -x "$package" "$dir/root"; done
rm -rf "${dir:?}/cache" "${dir:?}/state"
lib=$(echo "$dir"/root/usr/lib/*-linux-gnu)
for program in wrk h2load; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$lib" "$dir/root/usr/bin/$program" >"$dir/$program"
  chmod +x "$dir/$program"
done
{ "$dir/wrk" -v || true; } | grep -q '^wrk' # it exits with 1
"$dir/h2load" --version | grep -q '^h2load'
touch "$dir/ready-1"
