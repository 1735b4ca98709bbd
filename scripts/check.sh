#!/usr/bin/env bash
# The static checks of `make test`: format, go.mod, vet, lint, known vulnerabilities, protocol code. Every step runs, even if an earlier one failed.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
step() { # step NAME COMMAND...
  local begun=$SECONDS
  printf '== %s\n' "$1"
  "${@:2}" || { printf '** %s FAILED\n' "$1"; failed=1; }
  [ $((SECONDS - begun)) -lt 5 ] || printf '   %d s\n' $((SECONDS - begun))
}

gofmt_clean() {
  local bad
  bad=$(git ls-files '*.go' | while read -r f; do [ -e "$f" ] && echo "$f"; done | xargs -r gofmt -l)
  [ -z "$bad" ] || { printf 'not formatted, run make fmt:\n%s\n' "$bad"; return 1; }
}

fmt_clean() {
  local diff
  diff=$("$linter" fmt --diff ./... 2>&1)
  [ -z "$diff" ] || { printf '%s\nnot formatted, run make fmt\n' "$diff"; return 1; }
}

# The linter includes vet. With a C compiler it reads the code of redline-native; redline itself has two files of a few lines that it does not
# read. Without a C compiler `make unit-native` says that redline-native is not tested.
# GOGC lets the linter use more memory and less CPU time; GOMEMLIMIT is the memory that it takes without GOGC.
# What Go's build cache has of a package with C code names the folder of its source. The definition in CGO_CFLAGS keeps this folder's apart from
# that of another clone, which may be gone.
lint() {
  export GOGC=400 GOMEMLIMIT=2000MiB
  if [ "${NATIVE_CGO:-1}" = 1 ]; then
    CGO_ENABLED=1 CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -DFOLDER=$(cksum <<<"$PWD" | cut -d' ' -f1)" "$linter" run --build-tags native,grpcnotrace,netgo,osusergo ./...
  else
    "$linter" run ./...
  fi
}

vet_native() {
  [ "${NATIVE_CGO:-1}" = 1 ] || return 0
  CGO_ENABLED=1 go vet -tags native,grpcnotrace,netgo,osusergo ./...
}

few_nolint() {
  local n
  n=$(git grep -hI 'nolint:' -- '*.go' | wc -l)
  [ "$n" -le 10 ] || { echo "$n nolint comments; 10 are allowed"; return 1; }
}

# A machine without a network may lack modules that only this check needs.
tidy() { # tidy FOLDER
  local out
  out=$(go -C "$1" mod tidy -diff 2>&1) && return
  if grep -q '^diff ' <<<"$out"; then
    printf '%s\nrun: go -C %s mod tidy\n' "$out" "$1"
    return 1
  fi
  echo "NOT CHECKED: whether go.mod in $1 is tidy: $(tail -1 <<<"$out")"
}

# Building the linter takes minutes, the first time; the steps that do not need it run meanwhile.
built=$(mktemp)
trap 'rm -f "$built"' EXIT
scripts/linter.sh >"$built" &
builder=$!
step "format (gofmt)" gofmt_clean
step "go.mod is tidy" tidy .
step "go.mod of the tools is tidy" tidy tools
step "vet of the tools" go -C tools vet ./...
step "protocol code and patterns.svg are current" scripts/generated.sh
if wait "$builder"; then
  linter=$(<"$built")
  step "format (gofumpt, gci)" fmt_clean
  step "lint and vet" lint
else
  step "vet" go vet ./...
  step "vet with the tag native" vet_native
  [ "${CI:-}" != true ] || failed=1
fi
step "no more than 10 nolint" few_nolint
step "known vulnerabilities (govulncheck)" scripts/vuln.sh
exit $failed
