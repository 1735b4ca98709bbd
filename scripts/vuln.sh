#!/usr/bin/env bash
# Searches for known vulnerabilities in the code that the program reaches, with govulncheck, built once into the user's cache
# folder. The database is the public one, or the copy that GOVULNDB names, such as GOVULNDB=file:///path/to/folder.
# If the tool or the database cannot be reached, a line for the summary of `make test` says so; this is not a failure, because
# many CI machines have no network.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v1.8.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/redline/vuln/$version-$(go env GOVERSION)
db=${GOVULNDB:-https://vuln.go.dev}

not_checked() { echo "NOT CHECKED: known vulnerabilities: $1"; exit 0; }

case $db in
file://*) [ -r "${db#file://}/index/db.json" ] || { echo "GOVULNDB: ${db#file://} has no index/db.json: name the folder of a copy of the database"; exit 1; } ;;
*) curl -fsS -m 10 -o /dev/null "$db/index/db.json" 2>/dev/null ||
  not_checked "the database $db cannot be reached; give a copy of it with GOVULNDB=file:///FOLDER" ;;
esac

if [ ! -x "$dir/govulncheck" ]; then
  mkdir -p "$dir"
  echo "building govulncheck $version (once)" >&2
  # Built outside the module, so that it is not in go.mod.
  (cd "$dir" && GOFLAGS="${GOFLAGS:-} -mod=mod" GOBIN="$dir" CGO_ENABLED=0 go install -trimpath -ldflags=-s "golang.org/x/vuln/cmd/govulncheck@$version" >"$dir/log" 2>&1) ||
    not_checked "govulncheck $version could not be built: $(tail -1 "$dir/log"); the Go module proxy must be reachable once"
fi

for tags in grpcnotrace,netgo,osusergo native,grpcnotrace,netgo,osusergo; do
  echo "govulncheck $version, tags $tags, database $db"
  "$dir/govulncheck" -db "$db" -tags "$tags" ./cmd/...
done
