package run

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Classes begin when the last one is ready, however long each warms up; one that has failed is not waited for.
func TestClassesStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		classes := []*member{{}, {}, {}}
		var began time.Time
		s := newStart(classes, func() int64 { began = time.Now(); return 42 })
		first := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		var all sync.WaitGroup
		for i, m := range classes {
			all.Go(func() {
				time.Sleep(time.Duration(i+1) * time.Second) // the warm-up
				if i == 2 {
					s.arrive(m) // it has failed
					return
				}
				for range 2 { // a later level does not wait again
					if at, err := s.wait(t.Context(), m); err != nil || at != 42 {
						t.Error(at, err)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(first))
			})
		}
		all.Wait()
		for _, d := range at {
			if d != 3*time.Second || began.Sub(first) != 3*time.Second {
				t.Errorf("a class began after %s, all of them after %s", d, began.Sub(first))
			}
		}
	})
}

// An interrupt ends the wait.
func TestStartEndsWithTheContext(t *testing.T) {
	classes := []*member{{}, {}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newStart(classes, func() int64 { return 0 }).wait(ctx, classes[0]); err == nil {
		t.Error("a class began alone")
	}
}

// Lines of a class have its name, also where they come in pieces.
func TestNamedLines(t *testing.T) {
	var out strings.Builder
	w := &named{to: &out, name: "class a: "}
	for _, piece := range []string{"one\ntw", "o\n", "rest"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "class a: one\nclass a: two\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}
