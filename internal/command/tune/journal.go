package tune

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/tune"
)

// entry is one measurement of a journal.
type entry struct {
	Values  []string             `json:"values"`
	Stage   string               `json:"stage"`
	Low     float64              `json:"low"`
	High    *float64             `json:"high"`              // null if no load failed
	Reached float64              `json:"reached,omitempty"` // throughput at the lowest load that fails; only if none holds
	Value   float64              `json:"value"`
	Failed  string               `json:"failed,omitempty"`
	Probes  int                  `json:"probes"`
	Seconds float64              `json:"seconds"`
	Figures result.TuneCandidate `json:"figures"`
	// Find, Levels and what describes them are those of a whole search.
	Run *result.Result `json:"run,omitempty"`

	cut bool // the time of the budget ended it: a search that is resumed measures it again
}

// journal is a file with every measurement of a search, written as they end, so that --resume does not repeat them.
type journal struct {
	path    string
	known   map[string]entry
	secrets *secret.Set
}

// openJournal opens the journal of searches with the same server, model and own configuration, traffic, objectives and knobs. --resume
// keeps what it has.
func (s *session) openJournal() *journal {
	about := []string{s.what, s.server, strings.Join(s.objectives(), "\n"), s.opts.apply, s.sent()}
	for _, k := range s.space.knobs {
		about = append(about, k.Name)
	}
	if s.control != nil {
		for _, m := range s.control.models {
			about = append(about, m, s.control.own[m].Text())
		}
	}
	j := &journal{path: fileOf(s.IO, "journal", about...), known: map[string]entry{}, secrets: s.Secrets}
	if !s.opts.resume {
		_ = writePrivate(j.path, nil) // a place that cannot be written has no journal
		return j
	}
	text, err := os.ReadFile(j.path)
	if err != nil {
		return j
	}
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) == nil { // the last line of a search that was killed may be cut
			j.known[e.key()] = e
		}
	}
	return j
}

// sent identifies what is sent, without the options about output.
func (s *session) sent() string {
	pl := s.base.Plan()
	if pl == nil {
		_, args := option.Split((&plan.Outcome{}).Rows(), s.rest)
		_, args = option.Split([]option.Row{{Long: "json", Arg: "FILE"}}, args)
		return strings.Join(args, "\n")
	}
	sent := []any{s.opts.weights}
	for _, pl := range plans(s.base) {
		sent = append(sent, pl.Target, pl.Input, pl.Load)
	}
	text, err := json.Marshal(sent)
	if err != nil {
		return strings.Join(s.rest, "\n")
	}
	return string(text)
}

func (e *entry) key() string { return e.Stage + "\n" + strings.Join(e.Values, "\n") }

func (j *journal) find(values []string, stage tune.Stage) (entry, bool) {
	e := entry{Values: values, Stage: stage.String()}
	e, ok := j.known[e.key()]
	return e, ok
}

func (j *journal) add(e entry) {
	text, err := json.Marshal(e)
	if err != nil || j.path == "" {
		return
	}
	f, err := os.OpenFile(j.path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return // keepNote has said that nothing can be written there
	}
	_, _ = f.Write(append(j.secrets.RedactBytes(text), '\n')) // likewise
	_ = f.Close()
}
