#!/usr/bin/env bash
# Unpacks Debian's nginx into a folder of the user's cache, once, for tests of HTTPS. Nothing is installed.
# Usage: nginx.sh DIR. Needs apt.
set -euo pipefail
dir=$1
[ -x "$dir/usr/sbin/nginx" ] && exit 0
mkdir -p "$dir"
cd "$dir"
apt-get -qq -o APT::Sandbox::User=root download nginx
for d in ./nginx_*.deb; do dpkg -x "$d" .; done
rm -f ./nginx_*.deb
./usr/sbin/nginx -V >/dev/null 2>&1
