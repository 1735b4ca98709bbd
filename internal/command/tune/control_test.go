package tune

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tune"
)

// fakeServer loads models as Triton does. Configurations are JSON; a model without an entry in loaded is not loaded.
type fakeServer struct {
	service.Service
	repository, loaded map[string]string
	broken             bool              // models of the repository do not load
	refuses            bool              // nothing can be loaded
	deaf               bool              // overrides are ignored
	sticky             bool              // a model of the repository is not loaded again if its files have not changed, as in Triton
	files              map[string]string // of the repository when a model was loaded
}

func (s *fakeServer) ModelConfig(_ context.Context, model string) ([]byte, error) {
	text, ok := s.loaded[model]
	if !ok {
		return nil, &service.Error{Class: record.Server, Text: "unknown model"}
	}
	return []byte(text), nil
}

func (s *fakeServer) LoadModel(_ context.Context, model string, config []byte) error {
	text, ok := s.repository[model]
	switch {
	case s.refuses || !ok || s.broken && config == nil:
		return &service.Error{Class: record.Server, Text: "not loaded"}
	case config != nil && !s.deaf:
		text = string(config)
	case config == nil && s.sticky && (s.files[model] == "" || s.files[model] == s.repository[model]) && s.loaded[model] != "":
		text = s.loaded[model]
	}
	if s.files == nil {
		s.files = map[string]string{}
	}
	s.loaded[model], s.files[model] = text, s.repository[model]
	return nil
}

func (s *fakeServer) UnloadModel(_ context.Context, model string) error {
	delete(s.loaded, model)
	return nil
}

func (*fakeServer) Identify(context.Context) (service.Server, error) { return service.Server{}, nil }

func (s *fakeServer) Models(context.Context) (list []service.ListedModel, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.repository)) {
		m := service.ListedModel{Name: name}
		if _, ok := s.loaded[name]; ok {
			m.State = service.Ready
		}
		list = append(list, m)
	}
	return list, nil
}

const (
	one      = `{"name":"m","max_batch_size":4,"instance_group":[{"count":1}]}`
	two      = `{"name":"m","max_batch_size":4,"instance_group":[{"count":2}]}`
	three    = `{"name":"m","max_batch_size":4,"instance_group":[{"count":3}]}`
	ensemble = `{"name":"e","ensemble_scheduling":{"step":[{"model_name":"a"},{"model_name":"b"}]}}`
)

// reading reads the models of a server; kept counts the notes.
func reading(t *testing.T, s *fakeServer, model string) (c *control, kept int) {
	t.Helper()
	c, err := newControl(s)
	if err == nil {
		err = c.read(t.Context(), []string{model}, func() { kept++ })
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, kept
}

func knobOf(t *testing.T, c *control, name string, values ...string) knob {
	t.Helper()
	present, err := c.value("", name)
	if err != nil {
		t.Fatal(err)
	}
	return knob{Knob: tune.Knob{Name: name, Values: values}, part: ofServer, setting: name, present: present}
}

// instances is the setting of a model at the server.
func instances(t *testing.T, c *control, model string) string {
	t.Helper()
	now, err := c.config(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	return now.Value("instances")
}

// After a candidate the model has what it had, also if it had been loaded with another configuration than that of the repository.
func TestRestore(t *testing.T) {
	f := func(name, repository, had string, between func(*fakeServer, *control), want string, wantChanged, ok bool) {
		t.Run(name, func(t *testing.T) {
			s := &fakeServer{repository: map[string]string{"m": repository}, loaded: map[string]string{"m": had}}
			c, kept := reading(t, s, "m")
			if kept == 0 || instances(t, c, "m") != c.own["m"].Value("instances") {
				t.Fatalf("%d notes, %s instances after reading", kept, instances(t, c, "m"))
			}
			if err := c.apply(t.Context(), []knob{knobOf(t, c, "instances", "8")}, []string{"8"}); err != nil || instances(t, c, "m") != "8" {
				t.Fatalf("%v, %s instances", err, instances(t, c, "m"))
			}
			between(s, c)
			changed, err := c.restore(t.Context())
			if (err == nil) != ok || (len(changed) > 0) != wantChanged || instances(t, c, "m") != want {
				t.Errorf("%v, changed %v, %s instances", err, changed, instances(t, c, "m"))
			}
		})
	}
	nothing := func(*fakeServer, *control) {}
	f("own is that of the repository", one, one, nothing, "1", false, true)
	f("own is another one", one, two, nothing, "2", false, true)
	f("the repository was changed", one, one, func(s *fakeServer, _ *control) { s.repository["m"] = three }, "3", true, true)
	f("the repository was changed, own is another one", one, two, func(s *fakeServer, _ *control) { s.repository["m"] = three }, "3", true, true)
	f("killed before the repository was known", one, two, func(_ *fakeServer, c *control) { clear(c.repository) }, "2", false, true)
	f("the repository is broken", one, one, func(s *fakeServer, _ *control) { s.broken = true }, "1", false, true)
	f("nothing loads", one, one, func(s *fakeServer, _ *control) { s.refuses = true }, "8", false, false)
}

// Triton does not load a model again whose files have not changed: also there the model has what it had, after the search and by the note of
// a search that was killed.
func TestRestoreOnAServerThatDoesNotLoadAgain(t *testing.T) {
	f := func(name, had string, edit bool, want string) {
		t.Run(name, func(t *testing.T) {
			s := &fakeServer{repository: map[string]string{"m": one}, loaded: map[string]string{"m": had}, sticky: true}
			c, _ := reading(t, s, "m")
			if err := c.apply(t.Context(), []knob{knobOf(t, c, "instances", "8")}, []string{"8"}); err != nil {
				t.Fatal(err)
			}
			n := &note{}
			if err := n.add(c); err != nil {
				t.Fatal(err)
			}
			if edit {
				s.repository["m"] = three
			}
			other, err := newControl(s)
			if err == nil {
				err = other.addNoted(n)
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]*control{"by the search": c, "by the note": other} {
				changed, err := c.restore(t.Context())
				if err != nil || instances(t, c, "m") != want || len(changed) > 0 != edit {
					t.Errorf("%s: %v, %s instances, changed %v", name, err, instances(t, c, "m"), changed)
				}
			}
		})
	}
	f("own is that of the repository", one, false, "1")
	f("own is another one", two, false, "2")
	f("the repository was changed", one, true, "3")
}

// An ensemble that was not loaded is unloaded at the end with those of its steps that were not loaded.
func TestRestoreUnloads(t *testing.T) {
	s := &fakeServer{repository: map[string]string{"e": ensemble, "a": one, "b": two}, loaded: map[string]string{"b": two}}
	load := func() { s.loaded["a"] = one } // the server loads the steps with the ensemble
	c, err := newControl(s)
	if err == nil {
		err = c.read(t.Context(), []string{"e"}, load)
	}
	if err != nil || len(s.loaded) != 3 {
		t.Fatalf("%v, loaded %v", err, s.loaded)
	}
	if _, err := c.restore(t.Context()); err != nil || len(s.loaded) != 1 || s.loaded["b"] != two {
		t.Errorf("%v, loaded %v", err, s.loaded)
	}
}

// Several models are read, changed each by itself, and restored together.
func TestSeveralModels(t *testing.T) {
	s := &fakeServer{repository: map[string]string{"a": one, "b": two, "c": three}, loaded: map[string]string{"a": one, "b": two}}
	c, err := newControl(s)
	if err == nil {
		err = c.read(t.Context(), []string{"a", "b", "c"}, func() {})
	}
	if err != nil || !c.several() {
		t.Fatalf("%v, models %v", err, c.models)
	}
	k := knob{Knob: tune.Knob{Name: "b.instances", Values: []string{"3", "8"}}, part: ofServer, step: "b", setting: "instances", present: "2"}
	if err := c.apply(t.Context(), []knob{k}, []string{"8"}); err != nil {
		t.Fatal(err)
	}
	if got := instances(t, c, "a") + instances(t, c, "b") + instances(t, c, "c"); got != "183" {
		t.Errorf("instances of a, b, c: %s", got)
	}
	if _, err := c.restore(t.Context()); err != nil || s.loaded["a"] != one || s.loaded["b"] != two || len(s.loaded) != 2 {
		t.Errorf("%v, loaded %v", err, s.loaded)
	}
	if _, err := c.value("d", "instances"); err == nil || !strings.Contains(err.Error(), "none of the models that are tuned together: a, b, c") {
		t.Errorf("another model: %v", err)
	}
}

// The present values leave every step of an ensemble as it is, also if the steps differ.
func TestPresentOfSteps(t *testing.T) {
	s := &fakeServer{repository: map[string]string{"e": ensemble, "a": one, "b": two}, loaded: map[string]string{"e": ensemble, "a": one, "b": two}}
	c, _ := reading(t, s, "e")
	k := knobOf(t, c, "instances", "1", "2")
	if k.present != "1/2" {
		t.Errorf("present %s", k.present)
	}
	for value, want := range map[string]string{"1/2": "1 2", "1": "1 1", "2": "2 2"} {
		if err := c.apply(t.Context(), []knob{k}, []string{value}); err != nil {
			t.Fatal(err)
		}
		if got := instances(t, c, "a") + " " + instances(t, c, "b"); got != want {
			t.Errorf("instances=%s: the steps have %s, not %s", value, got, want)
		}
	}
}

// A server without model control, and one that ignores overrides, are told apart from one that changes.
func TestServersThatDoNotChange(t *testing.T) {
	c, err := newControl(&fakeServer{repository: map[string]string{"m": one}, loaded: map[string]string{"m": one}, refuses: true})
	if err == nil {
		err = c.read(t.Context(), []string{"m"}, func() {})
	}
	if !errors.As(err, new(noControlError)) {
		t.Errorf("no control: %v", err)
	}
	s := &fakeServer{repository: map[string]string{"m": one}, loaded: map[string]string{"m": one}, deaf: true}
	c, _ = reading(t, s, "m")
	if err := c.apply(t.Context(), []knob{knobOf(t, c, "instances", "2")}, []string{"2"}); err == nil {
		t.Error("a server that ignored the override was not noticed")
	}
}
