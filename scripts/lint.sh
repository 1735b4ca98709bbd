#!/usr/bin/env bash
# Prints the path of golangci-lint, building it once into the user's cache folder.
# Prints nothing, and a loud line on stderr, when it cannot be had (no network): lint is then skipped.
set -euo pipefail
version=v2.14.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/redline/lint/$version-$(go env GOVERSION)
if [ ! -x "$dir/golangci-lint" ]; then
  mkdir -p "$dir"
  echo "building golangci-lint $version (once; some minutes)" >&2
  # Built outside the module, so that go.mod never sees it.
  if ! (cd "$dir" && GOFLAGS=-mod=mod GOBIN="$dir" CGO_ENABLED=0 go install -trimpath -ldflags=-s \
      "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" >"$dir/log" 2>&1); then
    echo "**** golangci-lint could not be installed: LINT AND FORMAT RULES ARE NOT CHECKED (log: $dir/log) ****" >&2
    exit 0
  fi
fi
echo "$dir/golangci-lint"
