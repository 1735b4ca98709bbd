#!/usr/bin/env bash
# Runs every fuzz target of the tree for FUZZTIME (20s unless told).
set -euo pipefail
cd "$(dirname "$0")/.."
git grep -lE '^func Fuzz[A-Z]' -- '*_test.go' | xargs -n1 dirname | sort -u | while read -r dir; do
  go test -list '^Fuzz' "./$dir" | grep '^Fuzz' | while read -r name; do
    echo "== $dir $name"
    go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-20s}" "./$dir"
  done
done
