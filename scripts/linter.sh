#!/usr/bin/env bash
# Prints the path of golangci-lint, building it once into the user's cache folder.
# If it cannot be built (no network), it ends with status 1 and a line for the summary of `make test`.
#
# golangci-lint has more than a hundred linters, and compiling all of them takes five minutes on two cores. This builds only those
# that .golangci.yml enables: it removes the others from the list in builder_linter.go, in a copy of the pinned source.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v2.14.0
list=pkg/lint/lintersdb/builder_linter.go
linters=$(awk '/^  enable:/ { on = 1; next } on && /^    - / { print $2; next } on { exit }' .golangci.yml | paste -sd' ')
dir=${XDG_CACHE_HOME:-$HOME/.cache}/redline/lint/$version-$(go env GOVERSION)-$(cksum <<<"$linters" | cut -d' ' -f1)

# trim copies builder_linter.go without the import of each linter that is not enabled and without its element of the list, which
# ends where the next one begins.
trim() {
  awk -v enabled="$linters golinters" '
    BEGIN { n = split(enabled, names, " "); for (i = 1; i <= n; i++) keep[names[i]] }
    /\/pkg\/golinters\/[a-z0-9]+"$/ { name = $0; gsub(/.*\/|"/, "", name); if (!(name in keep)) next }
    /^\t\tlinter\.NewConfig\(/ { name = $0; sub(/.*NewConfig\(/, "", name); sub(/\..*/, "", name); skip = !(name in keep) }
    /^\t}/ { skip = 0 }
    !skip'
}

# build compiles the linter in $source, outside this module, so that it is not in go.mod.
build() {
  local module
  export GOFLAGS="${GOFLAGS:-} -trimpath -buildvcs=false" CGO_ENABLED=0
  module=$(cd "$source" && go mod download -json "github.com/golangci/golangci-lint/v2@$version" | awk -F'"' '$2 == "Dir" || $2 == "Error" { print $4 }') || { echo "$module"; return 1; }
  cp -r "$module/." "$source" && chmod -R u+w "$source" &&
    trim <"$module/$list" >"$source/$list" &&
    go build -C "$source" -ldflags=-s -o golangci-lint ./cmd/golangci-lint
}

if [ ! -x "$dir/golangci-lint" ]; then
  mkdir -p "$dir"
  source=$(mktemp -d "$dir/source.XXXX")
  trap 'rm -rf "$source"' EXIT
  echo "building golangci-lint $version (once; a minute or two)" >&2
  if ! (build) >"$dir/log" 2>&1; then
    echo "NOT TESTED: lint and format rules: golangci-lint $version could not be built: $(tail -1 "$dir/log"); the Go module proxy must be reachable once" >&2
    exit 1
  fi
  mv "$source/golangci-lint" "$dir/"
fi
echo "$dir/golangci-lint"
