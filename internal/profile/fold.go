package profile

import "github.com/redline-bench/redline/internal/record"

// held is a record that belongs to a later window than the one that was open when it was collected.
type held struct {
	rec    record.Record
	events []record.Event
	data   []byte
}

// fold takes a request that has ended into the window. One that ended after the window is held for the next.
func (m *levelRun) fold(p *pass, r *record.Record, events []record.Event, data []byte) {
	p.rest.take(m.eng.Working)
	if r.End > p.until {
		m.hold(r, events, data)
		return
	}
	if err := m.count(p, r, events, data); err != nil && p.err == nil {
		p.err = err
	}
}

// hold keeps a record for the next window.
func (m *levelRun) hold(r *record.Record, events []record.Event, data []byte) {
	m.held = append(m.held, held{*r, append([]record.Event(nil), events...), append([]byte(nil), data...)})
}

func (m *levelRun) takeHeld(p *pass) {
	for _, h := range m.held {
		_ = m.count(p, &h.rec, h.events, h.data) // an error of the export comes back at its end
	}
	m.held = m.held[:0]
}

func (m *levelRun) count(p *pass, r *record.Record, events []record.Event, data []byte) error {
	if r.End < p.rec.From() && len(m.passes) == 0 && !m.finite() {
		return nil // it ended before the first window; its record came a moment later
	}
	p.rec.Add(r)
	if m.Tap != nil {
		if err := m.Tap(m.lv, len(m.passes), r); err != nil {
			return err
		}
	}
	if m.Exporter == nil || r.Class != record.OK || r.Flags&record.Closing != 0 {
		return nil
	}
	return m.Exporter.Request(r, events, data)
}
