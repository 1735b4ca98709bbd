#!/usr/bin/env bash
# The step of action.yml that installs a release of Redline: $VERSION is a tag, or latest. It downloads the archive for this
# runner, compares its checksum and adds its folder to PATH. RELEASES is the address of the releases.
set -euo pipefail
releases=${RELEASES:-https://github.com/redline-bench/redline/releases}
if [ "$VERSION" = latest ]; then
  # The address of the latest release leads to that of its tag.
  VERSION=$(basename "$(curl -fsSL -o /dev/null -w '%{url_effective}' "$releases/latest")")
fi
os=$(uname -s | tr '[:upper:]' '[:lower:]') ending=tar.gz
case $os in
  linux | darwin) ;;
  mingw* | msys* | cygwin*) os=windows ending=zip ;;
  *) echo "there is no release of Redline for $os" >&2; exit 1 ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "there is no release of Redline for $(uname -m)" >&2; exit 1 ;;
esac
name=redline-$VERSION-$os-$arch
dir=$RUNNER_TEMP/redline-program
mkdir -p "$dir"
cd "$dir"
for file in "$name.$ending" SHA256SUMS; do
  curl -fsSL -o "$file" "$releases/download/$VERSION/$file"
done
sum() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
grep -F "  $name.$ending" SHA256SUMS | sum -c - >/dev/null || { echo "$name.$ending does not have the checksum of the release" >&2; exit 1; }
if [ $ending = zip ]; then unzip -q "$name.zip"; else tar -xzf "$name.tar.gz"; fi
echo "$dir/$name" >>"$GITHUB_PATH"
echo "installed Redline $VERSION"
