#!/usr/bin/env bash
# Builds the site of docs/ in out/site, or in the folder given, with MkDocs from the cache folder. A broken link or anchor, and a page
# without a place in mkdocs.yml, is an error. Needs python3 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."
site=$(realpath -m "${1:-out/site}")
packages=$PWD/scripts/site.txt
tools=${XDG_CACHE_HOME:-$HOME/.cache}/redline/site-$(sha256sum "$packages" | cut -c 1-8)
mkdir -p "$(dirname "$tools")"
bash e2e/peers/venv.sh "$tools" --no-deps --requirement "$packages"
"$tools/bin/mkdocs" build --strict --site-dir "$site"
echo "the site is in $site; to read it with search: python3 -m http.server -d $site"
