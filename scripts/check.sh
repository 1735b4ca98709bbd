#!/usr/bin/env bash
# The static half of `make test`: format, vet, lint, generated files.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '== %s\n' "$1"; }

step "format (gofmt)"
bad=$(git ls-files '*.go' | while read -r f; do [ -e "$f" ] && echo "$f"; done | xargs -r gofmt -l)
[ -z "$bad" ] || { printf 'not formatted, run make fmt:\n%s\n' "$bad"; exit 1; }

step "vet"
go vet ./...
go vet -tags native ./...

lint=$(scripts/lint.sh)
if [ -n "$lint" ]; then
  step "format (gofumpt, gci)"
  diff=$("$lint" fmt --diff ./... 2>&1) || true
  [ -z "$diff" ] || { printf '%s\nnot formatted, run make fmt\n' "$diff"; exit 1; }
  step "lint"
  "$lint" run ./...
fi

step "no more than 10 nolint"
n=$(git grep -hI 'nolint:' -- '*.go' | wc -l)
[ "$n" -le 10 ] || { echo "$n nolint comments; 10 are allowed"; exit 1; }

step "generated files are current"
scripts/generated.sh
