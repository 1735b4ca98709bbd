#!/usr/bin/env bash
# Runs every fuzz target of the tree for FUZZTIME (default 10s), two at once with one worker each.
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${FUZZTIME:-10s}

# Prints a line FILE NAME TAGS CGO_ENABLED for each target. Targets that need C are omitted if there is no compiler.
targets() {
  git grep -oE '^func Fuzz[A-Z]\w*' -- '*_test.go' | sed 's/:func / /' | while read -r file name; do
    if grep -q '^//go:build.*native' "$file"; then
      command -v "${CC:-cc}" >/dev/null || continue
      echo "$file $name native,grpcnotrace,netgo,osusergo 1"
    else
      echo "$file $name grpcnotrace,netgo,osusergo 0"
    fi
  done
}

one() {
  local dir out
  dir=$(dirname "$1")
  if out=$(CGO_ENABLED=$4 go test -tags "$3" -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 20x -parallel 1 "./$dir" 2>&1) && ! grep -q 'no fuzz tests' <<<"$out"; then
    echo "== $dir $2: $(grep '^fuzz: elapsed' <<<"$out" | tail -1)"
  else
    printf '== %s %s FAILED\n%s\n' "$dir" "$2" "$out"
    return 1
  fi
}
export -f one

targets | xargs -P 2 -L 1 bash -c 'one "$@"' fuzz
