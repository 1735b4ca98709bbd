#!/usr/bin/env bash
# Prints the path of golangci-lint, building it once into the user's cache folder.
# If it cannot be built (no network), it ends with status 1 and a line for the summary of `make test`.
set -euo pipefail
version=v2.14.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/redline/lint/$version-$(go env GOVERSION)
if [ ! -x "$dir/golangci-lint" ]; then
  mkdir -p "$dir"
  echo "building golangci-lint $version (once; some minutes)" >&2
  # Built outside the module, so that it is not in go.mod.
  if ! (cd "$dir" && GOFLAGS=-mod=mod GOBIN="$dir" CGO_ENABLED=0 go install -trimpath -ldflags=-s \
      "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" >"$dir/log" 2>&1); then
    echo "NOT TESTED: lint and format rules: golangci-lint $version could not be built: $(tail -1 "$dir/log"); the Go module proxy must be reachable once" >&2
    exit 1
  fi
fi
echo "$dir/golangci-lint"
