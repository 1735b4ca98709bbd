package profile

import "context"

// Ranks are the other processes of a run that is measured together.
type Ranks interface {
	// AllStable tells whether every rank is stable. All of them must ask, the same number of times.
	AllStable(ctx context.Context, stable bool) (bool, error)
}

// together asks the other ranks whether they are stable too: the run goes on until all are.
func (m *levelRun) together(ctx context.Context) (bool, error) {
	if m.Ranks == nil {
		return m.settled(), nil
	}
	m.settled()
	all, err := m.Ranks.AllStable(ctx, m.lv.Stable)
	if all {
		m.Observer.RanksStable()
	}
	return all, err
}
