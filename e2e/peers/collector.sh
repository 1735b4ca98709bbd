#!/usr/bin/env bash
# Builds an OpenTelemetry Collector from e2e/peers/collector, a module of its own, into the folder $1.
set -euo pipefail
dir=$1
cd "$(dirname "$0")/collector"
mkdir -p "$dir"
go build -o "$dir/collector.new" .
mv "$dir/collector.new" "$dir/collector"
