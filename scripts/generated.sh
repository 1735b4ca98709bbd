#!/usr/bin/env bash
# Generates the protocol code and docs/img/patterns.svg again and fails if a committed file would change. Unit tests compare the other
# generated files, see internal/testkit/generated.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard -- go.mod go.sum tools internal/proto | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done \
  | tar --null -T - -cf - | tar -C "$copy" -xf -
(cd "$copy" && go generate ./internal/proto/...)
changed=0
while IFS= read -r f; do
  cmp -s "$f" "$copy/$f" || { echo "stale, run make generate: $f"; changed=1; }
done < <(cd "$copy" && find internal/proto -type f | sort)
if command -v python3 >/dev/null; then
  python3 scripts/patterns.py | cmp -s - docs/img/patterns.svg || { echo "stale, run python3 scripts/patterns.py > docs/img/patterns.svg"; changed=1; }
fi
exit $changed
