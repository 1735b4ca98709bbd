package engine

// Flight is a request in flight: its slot, when it was due, and when the engine began to send it.
type Flight struct {
	Slot      int
	Due, Sent int64
}

// Flights lists the requests of the load that are in flight. A request that ends while the list is made may be missing:
// its record is there by then.
func (e *Engine) Flights() []Flight {
	var out []Flight
	for _, s := range e.snapshot() {
		if f, ok := s.flight(); ok {
			out = append(out, f)
		}
	}
	return out
}

// flight reads the two times of a slot's request. They are of the same request if the send time has not changed meanwhile.
func (s *slot) flight() (Flight, bool) {
	for {
		sent := s.since.Load()
		due := s.due.Load()
		if s.since.Load() != sent {
			continue
		}
		return Flight{Slot: s.call.Slot, Due: due, Sent: sent}, sent > 0 && due > 0
	}
}

// Scheduled is when the schedule of the latest paced load began: its request n is due at Scheduled plus offset n.
func (e *Engine) Scheduled() int64 { return e.scheduled.Load() }
