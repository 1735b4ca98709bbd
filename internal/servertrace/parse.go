// Package servertrace joins the trace files of Triton with the requests of the client, so that reports show where a slow request
// spent its time: in the queue, in the model, or on the way.
//
// Triton writes a JSON list with one object for each timestamp. Requests are matched by their request id. The times are those of the
// server's clock: Join finds the difference to the client's clock.
package servertrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Trace is one traced request of the server, or a step of an ensemble.
type Trace struct {
	ID, Parent uint64 // Parent is 0 unless the trace is a step of an ensemble
	Model      string
	Request    string // the request id
	Times      map[string]int64
}

// Parse reads a trace file. A file that the server has not ended yet may lack its end: what is complete is read.
func Parse(r io.Reader) ([]*Trace, error) {
	byID := map[uint64]*Trace{}
	var order []*Trace
	dec := json.NewDecoder(r)
	for {
		first, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return order, nil
		}
		if err != nil || first != json.Delim('[') {
			return order, errors.New("is not a trace file of Triton: it does not begin with a JSON list")
		}
		for dec.More() {
			var e entry
			err := dec.Decode(&e)
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				return order, nil
			}
			if err != nil {
				return order, fmt.Errorf("is not a trace file of Triton: %w", err)
			}
			t := byID[e.ID]
			if t == nil {
				t = &Trace{ID: e.ID, Times: map[string]int64{}}
				byID[e.ID] = t
				order = append(order, t)
			}
			e.addTo(t)
		}
		if _, err := dec.Token(); err != nil {
			return order, nil // the list has no end yet
		}
	}
}

// entry is one object of the list.
type entry struct {
	ID         uint64 `json:"id"`
	Parent     uint64 `json:"parent_id"`
	Model      string `json:"model_name"`
	Request    string `json:"request_id"`
	Timestamps []struct {
		Name string `json:"name"`
		Ns   int64  `json:"ns"`
	} `json:"timestamps"`
}

func (e *entry) addTo(t *Trace) {
	if e.Model != "" {
		t.Model, t.Request, t.Parent = e.Model, e.Request, e.Parent
	}
	for _, s := range e.Timestamps {
		if _, known := t.Times[s.Name]; !known || isEnd(s.Name) { // of several responses, the first start and the last end count
			t.Times[s.Name] = s.Ns
		}
	}
}

func isEnd(name string) bool { return len(name) > 4 && name[len(name)-4:] == "_END" }
