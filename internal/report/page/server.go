package page

import (
	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/result"
)

// ServerView is the server's metrics of a level in columns.
type ServerView struct {
	Seconds  []float64            `json:"x"` // middle of each step, after the start of the level's timeline
	Lines    []ServerLine         `json:"lines"`
	Others   []result.ServerValue `json:"others,omitempty"`
	Notes    []string             `json:"notes,omitempty"`
	Watts    float64              `json:"watts,omitempty"`
	Joules   float64              `json:"joules,omitempty"`       // per inference
	PerToken float64              `json:"joules_token,omitempty"` // per output token
}

// ServerLine is one quantity.
type ServerLine struct {
	Name   string     `json:"name"`
	Title  string     `json:"title"`
	Unit   string     `json:"unit"`
	From   string     `json:"from"`
	Of     string     `json:"of,omitempty"`
	Avg    *float64   `json:"avg"` // in the measured windows; nil if it is not known
	Max    *float64   `json:"max"`
	Values []*float64 `json:"y"`
}

// serverView cuts the server's metrics to the time of the level: reading begins before it.
func serverView(lv *result.Level) *ServerView {
	m := lv.ServerMetrics
	if m == nil || m.StepNs <= 0 {
		return nil
	}
	out := &ServerView{
		Lines: []ServerLine{}, Others: m.Others, Watts: round(m.PowerWatts), Joules: round(m.JoulesPerInference), PerToken: round(m.JoulesPerToken),
		Notes: convert.All(m.Notes, cleantext.Line),
	}
	steps := 0
	for i := range m.Series {
		steps = max(steps, len(m.Series[i].Values))
	}
	base := m.StartUnixNs
	if lv.Timeline != nil {
		base = lv.Timeline.StartUnixNs
	}
	first := steps
	for i := range steps {
		at := m.StartUnixNs - base + int64(i)*m.StepNs + m.StepNs/2
		if at < 0 {
			continue
		}
		first = min(first, i)
		out.Seconds = append(out.Seconds, round(float64(at)/1e9))
	}
	for i := range m.Series {
		s := &m.Series[i]
		l := ServerLine{Name: s.Name, Title: s.Title, Unit: s.Unit, From: cleantext.Line(s.From), Of: cleantext.Line(s.Of), Values: make([]*float64, steps-first)}
		if s.Known {
			l.Avg, l.Max = new(round(s.Avg)), new(round(s.Max))
		}
		for k := first; k < len(s.Values); k++ {
			if v := s.Values[k]; v != nil {
				l.Values[k-first] = new(round(*v))
			}
		}
		out.Lines = append(out.Lines, l)
	}
	return out
}

// TraceView is the slowest requests of a level that the server traced too.
type TraceView struct {
	Matched  int            `json:"matched"`
	Clock    string         `json:"clock,omitempty"`
	Note     string         `json:"note,omitempty"`
	Requests []RequestTrace `json:"requests,omitempty"`
}

// RequestTrace is one of them; times are milliseconds since its due time.
type RequestTrace struct {
	ID    string      `json:"id"`
	Model string      `json:"model"`
	Total float64     `json:"total"`
	Spans []TraceSpan `json:"spans"`
}

// TraceSpan is a part of a request.
type TraceSpan struct {
	Name   string  `json:"name"`
	Model  string  `json:"model,omitempty"`
	Server bool    `json:"server,omitempty"`
	Depth  int     `json:"depth,omitempty"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
}

// traceView cleans the texts of the server's file.
func traceView(t *result.ServerTraces) *TraceView {
	if t == nil {
		return nil
	}
	out := &TraceView{Matched: t.Matched, Clock: t.Clock, Note: cleantext.Line(t.Note)}
	ms := func(ns int64) float64 { return round(float64(ns) / 1e6) }
	for i := range t.Slowest {
		r := &t.Slowest[i]
		one := RequestTrace{ID: cleantext.Line(r.RequestID), Model: cleantext.Line(r.Model), Total: ms(r.LatencyNs)}
		for _, s := range r.Spans {
			one.Spans = append(one.Spans, TraceSpan{Name: cleantext.Line(s.Name), Model: cleantext.Line(s.Model), Server: s.Server, Depth: s.Depth, From: ms(s.StartNs), To: ms(s.EndNs)})
		}
		out.Requests = append(out.Requests, one)
	}
	return out
}
