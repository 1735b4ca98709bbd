package compare

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/result"
)

// settings are the options of redline profile that decide what is sent and how, by their places in a plan.
var settings = []struct{ path, option string }{
	{"target.model", "-m"},
	{"target.version", "-x"},
	{"target.kind", "--service-kind"},
	{"target.protocol", "-i"},
	{"target.endpoint", "--endpoint"},
	{"target.http_version", "--http-version"},
	{"target.streaming", "--streaming"},
	{"target.compression", "--grpc-compression-algorithm"},
	{"target.parameters", "--request-parameter"},
	{"target.grpc_method", "--grpc-method"},
	{"target.signature_name", "--model-signature-name"},
	{"target.call", "--async or --sync"},
	{"input.batch", "-b"},
	{"input.source", "--input-data"},
	{"input.paths", "--input-data"},
	{"input.shapes", "--shape"},
	{"input.string_length", "--string-length"},
	{"input.string_data", "--string-data"},
	{"input.shared_memory", "--shared-memory"},
	{"input.input_json", "--input-tensor-format json"},
	{"input.output_json", "--output-tensor-format json"},
	{"input.serial_sequences", "--serial-sequences"},
	{"input.sequence_length", "--sequence-length"},
	{"input.sequences", "--num-of-sequences"},
	{"input.seed", "--seed"},
	{"load.distribution", "--request-distribution"},
	{"load.think_time", "--think-time"},
}

// apart are options of redline llm that decide nothing about what is sent: where it goes, which load, how long, and what becomes of the
// result. Levels are compared by their names.
var apart = []string{
	"url", "embedded", "header", "api-key", "api-key-env", "concurrency", "request-rate", "request-count", "benchmark-duration", "benchmark-grace-period", "num-conversations", "runs", "goodput",
	"json", "report", "artifact-dir", "exports", "profile-export-prefix", "slice-duration", "export-level", "console", "verbose", "save-scenario", "records", "histogram-log", "dash", "dash-listen",
	"metrics-listen", "prometheus-remote-write", "prometheus-histograms", "server-metrics", "server-metrics-formats", "gpu-telemetry", "otlp", "otlp-header", "otlp-ca", "assert", "baseline",
	"max-regression", "junit", "summary", "label", "no-history", "quiet", "progress", "tui", "calibrate", "workers", "nats", "nats-creds", "warmup-request-count", "warmup-duration",
}

// OtherData is what differs between runs with other workloads and the same options.
const OtherData = "the options are the same, so the input data or the seed differ"

// Differences names the options in which b differs from a, as "-b is 8, not 1"; empty if there are none, or they are not known.
func Differences(a, b *result.Result) string {
	if a.Command != b.Command && a.Command != "" && b.Command != "" {
		return fmt.Sprintf("the command is %s, not %s", b.Command, a.Command)
	}
	va, vb := options(a), options(b)
	if va == nil || vb == nil {
		return ""
	}
	var names []string
	for _, list := range [][]option{va, vb} {
		for _, o := range list {
			if !slices.Contains(names, o.name) {
				names = append(names, o.name)
			}
		}
	}
	var out []string
	for _, name := range names {
		old, now := valueOf(va, name), valueOf(vb, name)
		switch {
		case old == now:
		case now == "":
			out = append(out, name+" is not given, but was "+old)
		case old == "":
			out = append(out, name+" is "+now+", and was not given")
		default:
			out = append(out, name+" is "+now+", not "+old)
		}
	}
	return strings.Join(out, "; ")
}

// option is an option of a run with its values.
type option struct{ name, value string }

func valueOf(list []option, name string) string {
	var values []string
	for _, o := range list {
		if o.name == name {
			values = append(values, o.value)
		}
	}
	return strings.Join(values, " ")
}

// options are the options of a run that decide what was sent; nil if they are not known.
func options(r *result.Result) []option {
	if len(r.Options) > 0 {
		out := []option{}
		for _, text := range r.Options {
			name, value, given := strings.Cut(strings.TrimPrefix(text, "--"), "=")
			if !given {
				value = "set"
			}
			if !slices.Contains(apart, name) {
				out = append(out, option{"--" + name, value})
			}
		}
		return out
	}
	if r.Plan == nil {
		return nil
	}
	text, _ := json.Marshal(r.Plan.Public()) // plain data
	var tree map[string]any
	if json.Unmarshal(text, &tree) != nil {
		return nil
	}
	out := []option{}
	for _, s := range settings {
		section, key, _ := strings.Cut(s.path, ".")
		fields, _ := tree[section].(map[string]any)
		if v, ok := fields[key]; ok {
			out = append(out, option{s.option, plain(v)})
		}
	}
	return out
}

// plain is a value of JSON in a line.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, _ := json.Marshal(v) // it was JSON before
	return string(text)
}
