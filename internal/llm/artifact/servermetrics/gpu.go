package servermetrics

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/scrape"
)

// GPUName is the name of the file of GPUs: AIPerf's, or with a prefix.
func GPUName(prefix string) string {
	if prefix == "" {
		return "gpu_telemetry_export.jsonl"
	}
	return prefix + "_gpu_telemetry.jsonl"
}

// reading is a quantity of NVIDIA's DCGM exporter, as AIPerf calls it.
type reading struct {
	dcgm, name, unit string
	scale            float64 // from the exporter's unit to AIPerf's
	counts           bool    // a counter: its increase is reported
}

// readings are in the order of AIPerf's reports.
var readings = []reading{
	{"DCGM_FI_DEV_POWER_USAGE", "nvidia_power_usage", "W", 1, false},
	{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "nvidia_energy_consumption", "MJ", 1e-9, true},
	{"DCGM_FI_DEV_GPU_UTIL", "nvidia_gpu_utilization", "%", 1, false},
	{"DCGM_FI_DEV_MEM_COPY_UTIL", "nvidia_memory_utilization", "%", 1, false},
	{"DCGM_FI_DEV_FB_USED", "nvidia_memory_used", "GB", 1.048576e-3, false},
	{"DCGM_FI_DEV_GPU_TEMP", "nvidia_temperature", "°C", 1, false},
	{"DCGM_FI_PROF_SM_ACTIVE", "nvidia_sm_utilization", "%", 100, false},
	{"DCGM_FI_DEV_DEC_UTIL", "nvidia_decoder_utilization", "%", 1, false},
	{"DCGM_FI_DEV_ENC_UTIL", "nvidia_encoder_utilization", "%", 1, false},
	{"DCGM_FI_DEV_XID_ERRORS", "nvidia_xid_errors", "count", 1, true},
	{"DCGM_FI_DEV_POWER_VIOLATION", "nvidia_power_violation", "us", 1e-3, true},
}

// gpu is one device, by the labels of its samples.
type gpu struct {
	Index    int    `json:"gpu_index"`
	UUID     string `json:"gpu_uuid"`
	Model    string `json:"gpu_model_name"`
	Bus      string `json:"pci_bus_id,omitempty"`
	Device   string `json:"device,omitempty"`
	Host     string `json:"hostname,omitempty"`
	Space    string `json:"namespace,omitempty"`
	Pod      string `json:"pod_name,omitempty"`
	Platform string `json:"platform"`
}

// device reads the labels; false if they are of no GPU.
func device(labels []scrape.Label) (gpu, bool) {
	g := gpu{Index: -1, Platform: "nvidia"}
	texts := map[string]*string{
		"UUID": &g.UUID, "modelName": &g.Model, "pci_bus_id": &g.Bus, "device": &g.Device, "Hostname": &g.Host, "namespace": &g.Space, "pod": &g.Pod,
	}
	for _, l := range labels {
		if to := texts[l.Name]; to != nil {
			*to = l.Value
		} else if n, err := strconv.Atoi(l.Value); l.Name == "gpu" && err == nil {
			g.Index = n
		}
	}
	return g, g.Index >= 0
}

// gpuLines returns a page in the form of AIPerf's gpu_telemetry_export.jsonl: one line per GPU.
func gpuLines(address string, p *scrape.Page) []byte {
	type line struct {
		gpu
		At   int64              `json:"timestamp_ns"`
		From string             `json:"telemetry_source_url"`
		Data map[string]float64 `json:"telemetry_data"`
	}
	all := map[int]*line{}
	for i := range p.Samples {
		s := &p.Samples[i]
		k := slices.IndexFunc(readings, func(r reading) bool { return r.dcgm == strings.TrimSuffix(s.Name, "_total") })
		g, ok := device(s.Labels)
		if k < 0 || !ok || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			continue
		}
		if all[g.Index] == nil {
			all[g.Index] = &line{gpu: g, At: p.At.UnixNano(), From: address, Data: map[string]float64{}}
		}
		all[g.Index].Data[readings[k].name] = s.Value * readings[k].scale
	}
	var out []byte
	for _, i := range slices.Sorted(maps.Keys(all)) {
		text, _ := json.Marshal(all[i]) // finite numbers and text always encode
		out = append(append(out, text...), '\n')
	}
	return out
}

// gpuSummary is a GPU in the summary of a run.
type gpuSummary struct {
	Index    int            `json:"gpu_index"`
	Name     string         `json:"gpu_name"`
	UUID     string         `json:"gpu_uuid"`
	Platform string         `json:"platform"`
	Host     *string        `json:"hostname"`
	Space    string         `json:"namespace,omitempty"`
	Pod      string         `json:"pod_name,omitempty"`
	Metrics  map[string]any `json:"metrics"`
}

// Telemetry returns telemetry_data of AIPerf's summary: the values of each GPU in the measured phase, begin and end in Unix
// nanoseconds. Call Stop first.
func (w *Watch) Telemetry(begin, end int64) any {
	addresses, endpoints := []string{}, map[string]any{}
	for _, e := range w.pages {
		addresses = append(addresses, e.url)
		gpus := map[string]*gpuSummary{}
		for _, r := range readings {
			if f := e.families[r.dcgm]; f != nil {
				f.summarize(r, gpus)
			}
		}
		endpoints[display(e.url)] = map[string]any{"gpus": gpus}
	}
	return map[string]any{
		"summary":   map[string]any{"endpoints_configured": addresses, "endpoints_successful": addresses, "start_time": iso(begin), "end_time": iso(end)},
		"endpoints": endpoints,
	}
}

// summarize adds one quantity of all GPUs.
func (f *family) summarize(r reading, to map[string]*gpuSummary) {
	for _, key := range slices.Sorted(maps.Keys(f.series)) {
		s := f.series[key]
		g, ok := device(s.labels)
		if !ok || !s.seen {
			continue
		}
		name := "gpu_" + strconv.Itoa(g.Index)
		if to[name] == nil {
			to[name] = &gpuSummary{Index: g.Index, Name: g.Model, UUID: g.UUID, Platform: g.Platform, Space: g.Space, Pod: g.Pod, Metrics: map[string]any{}}
			if g.Host != "" {
				to[name].Host = &g.Host
			}
		}
		m := map[string]any{"unit": r.unit}
		if r.counts {
			m["avg"] = max(0, s.now.value-s.ref.value) * r.scale
		} else {
			for _, n := range s.statistics(gauge) {
				m[n.name] = n.value * r.scale
			}
		}
		to[name].Metrics[r.name] = m
	}
}
