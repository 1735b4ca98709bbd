#!/usr/bin/env bash
# Makes files of a release in dist/ in place of the earlier ones: dist.sh PART..., see tools/release; the version is $VERSION.
set -euo pipefail
cd "$(dirname "$0")/.."
case $* in
  wheels) rm -f dist/*.whl ;;
  *) [ ! -d dist ] || find dist -type f ! -name '*.whl' -delete ;;
esac
go run -C tools ./release -dir "$PWD" -version "${VERSION:-}" "$@"
