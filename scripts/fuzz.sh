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

# Tells whether the end of the time is the only failure: Go before 1.27 sometimes reports it as one (golang/go#75804). Real failures name an input or a process.
ended() {
  grep -qx ' *context deadline exceeded' <<<"$1" && ! grep -qE 'Failing input|fuzzing process' <<<"$1"
}

one() {
  local dir out passed=true
  dir=$(dirname "$1")
  out=$(CGO_ENABLED=$4 go test -tags "$3" -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 20x -parallel 1 "./$dir" 2>&1) || ended "$out" || passed=false
  if $passed && ! grep -q 'no fuzz tests' <<<"$out"; then
    echo "== $dir $2: $(grep '^fuzz: elapsed' <<<"$out" | tail -1)"
  else
    printf '== %s %s FAILED\n%s\n' "$dir" "$2" "$out"
    return 1
  fi
}
export -f one ended

targets | xargs -P 2 -L 1 bash -c 'one "$@"' fuzz
