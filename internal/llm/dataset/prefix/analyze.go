package prefix

import (
	"context"
	"errors"
	"math"
	"slices"
)

// Analysis describes a trace. Its JSON has AIPerf's names.
type Analysis struct {
	Requests int `json:"total_requests"`
	// UniquePrefixes counts the different starts of prompts, PrefixGroups the first blocks that several requests share.
	UniquePrefixes int `json:"unique_prefixes"`
	PrefixGroups   int `json:"num_prefix_groups"`
	// HitRate is the mean over the requests of the share of blocks that an unlimited cache would have.
	HitRate float64 `json:"cache_hit_rate"`
	// Reuse is the share of all starts of prompts that occur more than once.
	Reuse float64 `json:"prefix_reuse_ratio"`
	// Extremes repeats some values of Input and Output, for readers of AIPerf's file.
	Extremes
	Input   Spread  `json:"isl_stats"`
	Output  Spread  `json:"osl_stats"`
	Context Spread  `json:"context_length_stats"` // tokens that other requests share
	Unique  Spread  `json:"unique_prompt_length_stats"`
	Hits    *Spread `json:"hit_rate_stats"` // nil if no request has hash_ids
}

// Extremes are the least, the largest and the mean lengths of inputs and outputs.
type Extremes struct {
	MinInput   float64 `json:"min_isl"`
	MaxInput   float64 `json:"max_isl"`
	MeanInput  float64 `json:"avg_isl"`
	MinOutput  float64 `json:"min_osl"`
	MaxOutput  float64 `json:"max_osl"`
	MeanOutput float64 `json:"avg_osl"`
}

// Spread describes values. Percentiles are interpolated; the deviation is that of the population.
type Spread struct {
	Mean   float64 `json:"mean"`
	StdDev float64 `json:"std_dev"`
	Min    float64 `json:"min"`
	P25    float64 `json:"p25"`
	Median float64 `json:"median"`
	P75    float64 `json:"p75"`
	Max    float64 `json:"max"`
}

// Analyze reads a trace.
func Analyze(ctx context.Context, path string, block int) (*Analysis, error) {
	t := newTree()
	var input, output, hits []float64
	err := each(ctx, path, block, func(r *record) error {
		input, output = append(input, float64(r.input)), append(output, float64(r.output))
		if n := len(r.ids); n > 0 {
			hits = append(hits, float64(t.add(r.ids))/float64(n))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(input) == 0 {
		return nil, errors.New("the trace has no request")
	}
	var shared, unique []float64
	err = each(ctx, path, block, func(r *record) error {
		n := min(len(t.shared(r.ids))*block, r.input)
		shared, unique = append(shared, float64(n)), append(unique, float64(r.input-n))
		return nil
	})
	if err != nil {
		return nil, err
	}
	a := &Analysis{
		Requests: len(input), UniquePrefixes: len(t.count) - 1, Input: spread(input), Output: spread(output), Context: spread(shared), Unique: spread(unique),
	}
	a.Extremes = Extremes{a.Input.Min, a.Input.Max, a.Input.Mean, a.Output.Min, a.Output.Max, a.Output.Mean}
	for e, node := range t.nodes {
		if e.from == 0 && t.count[node] > 1 {
			a.PrefixGroups++
		}
	}
	all, reused := 0, 0
	for _, n := range t.count {
		if all += n; n > 1 {
			reused += n
		}
	}
	if all > 0 {
		a.Reuse = float64(reused) / float64(all)
	}
	if len(hits) > 0 {
		s := spread(hits)
		a.Hits, a.HitRate = &s, s.Mean
	}
	return a, nil
}

func spread(values []float64) Spread {
	slices.Sort(values)
	n := float64(len(values))
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	at := func(share float64) float64 {
		k := (n - 1) * share
		low := int(k)
		high := min(low+1, len(values)-1)
		return values[low] + (k-float64(low))*(values[high]-values[low])
	}
	return Spread{Mean: mean, StdDev: math.Sqrt(squares / n), Min: values[0], P25: at(0.25), Median: at(0.5), P75: at(0.75), Max: values[len(values)-1]}
}
