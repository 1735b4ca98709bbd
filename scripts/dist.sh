#!/usr/bin/env bash
# Builds release archives: dist.sh OS/ARCH ... ; version from $VERSION.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist && mkdir -p dist
for platform in "$@"; do
  os=${platform%/*} arch=${platform#*/} ext=
  [ "$os" = windows ] && ext=.exe
  name=redline-$VERSION-$os-$arch
  mkdir -p "dist/$name"
  echo "$name"
  CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$VERSION" -o "dist/$name/redline$ext" ./cmd/redline
  cp LICENSE README.md "dist/$name/"
  tar -C dist -czf "dist/$name.tar.gz" "$name" && rm -r "dist/$name"
done
(cd dist && sha256sum ./*.tar.gz > SHA256SUMS)
