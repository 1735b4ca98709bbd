package attach

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
)

// A run of redline llm is taken up with its own options. Secrets are given again, and other addresses replace the run's.
func TestArgumentsOfARun(t *testing.T) {
	kept := []string{"--model=m", "--url=gpu:1", "--header=A: ***", "--header=B: ***", "--streaming", "--api-key=***", "--workers=2"}
	f := func(want string, edit func(*options)) {
		t.Helper()
		o := defaults()
		edit(o)
		args, err := o.arguments(kept)
		if err != nil {
			args = []string{err.Error()}
		}
		if got := strings.Join(args, " "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	secrets := func(o *options) {
		o.given.Headers = []plan.Header{{Name: "B", Value: "y"}, {Name: "A", Value: "x"}}
		o.apiKey = "k"
	}
	f("--model=m --url=gpu:1 --streaming --workers=2 --api-key=k --header=B: y --header=A: x", secrets)
	f("--model=m --streaming --workers=2 --api-key=k --header=B: y --header=A: x --url=gpu:2", func(o *options) {
		secrets(o)
		o.given.URL = "gpu:2"
	})
	f("NATS keeps no secrets of the run: give --header=B: ***, --api-key=*** again", func(o *options) {
		o.given.Headers = []plan.Header{{Name: "A", Value: "x"}}
	})
	f(strings.Join(kept, " "), func(o *options) { o.collect = true })
}
