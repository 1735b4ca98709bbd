#!/usr/bin/env bash
# Generates all files again in a copy of the tree and fails if a committed file would change.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\0' "$f"; done \
  | tar --null -T - -cf - | tar -C "$copy" -xf -
make -s -C "$copy" generate
changed=0
while IFS= read -r f; do
  cmp -s "$f" "$copy/$f" || { echo "stale, run make generate: $f"; changed=1; }
done < <(cd "$copy" && find internal docs -type f \( -name '*.go' -o -name '*.md' \) | sort)
if command -v python3 >/dev/null; then
  python3 scripts/patterns.py | cmp -s - docs/img/patterns.svg || { echo "stale, run python3 scripts/patterns.py > docs/img/patterns.svg"; changed=1; }
fi
exit $changed
