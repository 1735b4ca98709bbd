#!/usr/bin/env bash
# Prints the path of nfpm, which writes .deb and .rpm packages, building it once into the user's cache folder.
# If it cannot be built (no network), it ends with status 1 and says why.
set -euo pipefail
version=v2.43.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/redline/nfpm/$version-$(go env GOVERSION)
if [ ! -x "$dir/nfpm" ]; then
  mkdir -p "$dir"
  echo "building nfpm $version (once)" >&2
  # Built outside the module, so that it is not in go.mod.
  if ! (cd "$dir" && GOFLAGS="${GOFLAGS:-} -mod=mod" GOBIN="$dir" CGO_ENABLED=0 go install -trimpath -ldflags=-s \
      "github.com/goreleaser/nfpm/v2/cmd/nfpm@$version" >"$dir/log" 2>&1); then
    echo "nfpm $version could not be built: $(tail -1 "$dir/log"); the Go module proxy must be reachable once" >&2
    exit 1
  fi
fi
echo "$dir/nfpm"
