#!/usr/bin/env bash
# Builds release archives of the static binary: dist.sh OS/ARCH ... ; version from $VERSION. Equal commits and Go releases give
# equal bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist && mkdir -p dist
when=$(git log -1 --format=@%ct 2>/dev/null || echo @0)
for platform in "$@"; do
  os=${platform%/*} arch=${platform#*/} ext=
  [ "$os" = windows ] && ext=.exe
  name=redline-$VERSION-$os-$arch
  mkdir -p "dist/$name"
  echo "$name"
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o "dist/$name/redline$ext" ./cmd/redline
  cp -r LICENSE ./*.md docs "dist/$name/"
  [ "$os" = windows ] || ln -s redline "dist/$name/perf_analyzer"
  tar -C dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="$when" -cf - "$name" | gzip -9n > "dist/$name.tar.gz"
  rm -r "dist/${name:?}"
done
(cd dist && sha256sum ./*.tar.gz > SHA256SUMS)
