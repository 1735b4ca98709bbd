package measure

import (
	"errors"
	"strconv"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// ErrNoVersion is returned when no version of a model did any work during the window.
var ErrNoVersion = errors.New("the server has no statistics of this version of the model")

// ServerDelta returns the difference of two snapshots of the server's counters, for the model and its composing models.
// several names models of which more than one version worked although no version was requested. If the model has a
// response cache, neither it nor its composing models need to have worked; the version is then -1, unless one was
// requested.
func ServerDelta(m *service.Model, from, to []service.ModelStats) (s *result.Server, several []string, err error) {
	top, many, err := delta(m.Name, m.Version, from, to)
	if errors.Is(err, ErrNoVersion) && m.OwnCache {
		top, err = service.ModelStats{Name: m.Name, Version: m.Version}, nil
		if m.Version == "" {
			top.Version = "-1"
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if many {
		several = append(several, m.Name)
	}
	s = &result.Server{Stats: top, Cache: m.Cache}
	for _, part := range m.Composing {
		sub := &service.Model{Name: part.Name, Version: part.Version, Composing: part.Parts, Cache: m.Cache, OwnCache: m.OwnCache}
		child, more, err := ServerDelta(sub, from, to)
		if err != nil {
			return nil, nil, err
		}
		several = append(several, more...)
		s.Composing = append(s.Composing, *child)
	}
	return s, several, nil
}

// delta picks the requested version, or the highest version that queued work during the window.
func delta(name, version string, from, to []service.ModelStats) (best service.ModelStats, many bool, err error) {
	found := false
	for _, end := range to {
		if end.Name != name || (version != "" && end.Version != version) {
			continue
		}
		d := end.Sub(find(from, name, end.Version))
		if version == "" && d.Queue.Count == 0 {
			continue
		}
		many = found
		if !found || number(end.Version) > number(best.Version) {
			best = d
		}
		found = true
	}
	if !found {
		return best, false, ErrNoVersion
	}
	return best, many, nil
}

func find(stats []service.ModelStats, name, version string) service.ModelStats {
	for _, s := range stats {
		if s.Name == name && s.Version == version {
			return s
		}
	}
	return service.ModelStats{Name: name, Version: version}
}

func number(version string) int64 {
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
