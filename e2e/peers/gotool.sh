#!/usr/bin/env bash
# Builds a program from the Go module proxy into a folder of the user's cache, once, outside of this module, so that it is not in go.mod.
# Usage: gotool.sh DIR PACKAGE@VERSION
set -euo pipefail
dir=$1
exec 9>"$dir.lock"
flock 9
[ -e "$dir/ready" ] && exit 0
mkdir -p "$dir"
cd "$dir"
GOFLAGS=-mod=mod GOBIN=$dir CGO_ENABLED=0 go install -trimpath -ldflags=-s "$2"
touch "$dir/ready"
