package run

import (
	"slices"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
)

// Flying makes the list of requests in flight exact: a request that ends while the list is made is in the list or among the records that
// were passed on, never in both.
type Flying struct {
	list  []engine.Flight
	ended map[engine.Flight]bool // by slot and due time; nil while no list is made
}

// Begin takes a list. Ended is told of all records from now on until End.
func (f *Flying) Begin(list []engine.Flight) {
	f.list, f.ended = list, map[engine.Flight]bool{}
}

// Ended notes that a request has ended.
func (f *Flying) Ended(r *record.Record) {
	if f.ended != nil {
		f.ended[engine.Flight{Slot: int(r.Slot), Due: r.Due}] = true
	}
}

// End is the list without the requests that have ended.
func (f *Flying) End() []engine.Flight {
	list := slices.DeleteFunc(f.list, func(one engine.Flight) bool { return f.ended[engine.Flight{Slot: one.Slot, Due: one.Due}] })
	*f = Flying{}
	return list
}
