package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/secret"
)

func grammar() *scenario.Grammar {
	row := func(long string, r option.Row) option.Row {
		r.Long, r.To = long, option.Ignore()
		return r
	}
	value := option.Row{Arg: "X"}
	return &scenario.Grammar{
		Run: []option.Row{row("json", value), row("assert", option.Row{Arg: "RULE", Repeat: true})},
		Commands: []scenario.Command{{
			Name: "profile", Seed: "seed", Arrivals: "distribution", Stages: "stages", Outside: []string{"--json"},
			Rows: []option.Row{
				{Short: 'm', Word: "model", Arg: "NAME", To: option.Ignore()},
				{Short: 'u', Word: "url", Arg: "URL", Secret: secret.URL, To: option.Ignore()},
				row("header", option.Row{Arg: "H", Repeat: true, Secret: secret.Header}), row("streaming", option.Row{}),
				row("request-rate", value), row("seed", value), row("stages", value), row("json", value),
				{Short: 'v', Word: "verbose", Repeat: true, To: option.Ignore()},
				{Also: "model-name", Instead: "is written -m MODEL"},
				{Also: "stream", Instead: "is another tool's; use --streaming, or 'redline find --streaming'"},
				{Also: "rps", Instead: "is a non-standard name; use --request-rate N or --other N"},
			},
		}, {Name: "llm", Rows: []option.Row{row("model", value), {Also: "config", Instead: "is not supported: use options"}}}},
	}
}

// read reads a text; the environment has the variable TOKEN.
func read(text string) (*scenario.Scenario, []scenario.Fault, []string) {
	var secrets []string
	env := func(name string) string { return map[string]string{"TOKEN": "s3cret", "HOST": "gpu:1"}[name] }
	s, faults := scenario.Read("s.yaml", []byte(text), grammar(), env, func(v string) { secrets = append(secrets, v) })
	return s, faults, secrets
}

// Each mistake is found at its line and column, and all of them at once.
func TestFaults(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		_, faults, _ := read(text)
		var got []string
		for _, fault := range faults {
			got = append(got, strings.TrimPrefix(fault.String(), "s.yaml:"))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s\n%s", text, d)
		}
	}
	f("", `1:1: the file is empty: a scenario needs "classes"`)
	f("a: b: c", `1:1: not valid YAML: mapping values are not allowed in this context`)
	f("- a", `1:1: a scenario must be an object with keys`)
	f("name: x", `1:1: a scenario needs "classes", with at least one class`)
	f("clases: {}", `1:1: a scenario has no key "clases"; it has name, seed, arrivals, objectives, options, classes, rate, duration, stages`)
	f("seed: -1\narrivals: even\nclasses:\n  a:\n    profile: {model: m, streaming: maybe}",
		`1:7: "seed" must be a whole number of at least 0`, `2:11: "arrivals" must be constant or poisson, not "even"`, `5:36: --streaming is a switch: true or false`)
	f("classes:\n  a:\n    profile:\n      speed: x\n      json: f",
		`4:7: redline profile has no option "speed"; did you mean seed?`,
		`5:7: --json is about the whole run: give it to redline run, or put it under "options" of the scenario`)
	f("classes:\n  a:\n    profile: {strem: true, steaming: true}",
		`3:15: redline profile has no option "strem"; see redline help profile`,
		`3:28: redline profile has no option "steaming"; did you mean streaming?`)
	f("classes:\n  a: {}", `2:3: the class "a" needs "profile" or "llm" with the options of that command`)
	f("classes:\n  a:\n    profile: {}\n    llm: {}", `4:10: a class has one of "profile" or "llm"`)
	f("classes:\n  a: {llm: {config: x}}", `2:13: "config" is not supported: use options`)
	f("classes:\n  a:\n    profile: {model-name: m, stream: true, rps: 5}", `3:15: "model-name" is written model: MODEL`,
		`3:30: "stream" is another tool's; use streaming: true, or 'redline find --streaming'`,
		`3:44: "rps" is a non-standard name; use request-rate: N or --other N`)
	f("classes:\n  all classes: {llm: {}}", `2:3: "all classes" names all classes together in reports: choose another name`)
	f("classes:\n  a: {llm: {}}\n  a: {llm: {}}", `3:3: the key "a" stands twice`)
	f("classes:\n  a: {weight: 1, llm: {}}", `2:3: a "weight" is a share of the scenario's rate: add "stages", or "rate" and "duration", to the scenario`)
	f("rate: 5\nduration: 1s\nclasses:\n  a: {llm: {}}", `1:7: no class has a "weight", so no class has a part of the scenario's rate`)
	f("classes:\n  a: {rate: 5, llm: {}}", `2:13: a rate needs its length: add "duration", such as "duration: 1m"`)
	f("classes:\n  a: {rate: 5, duration: 0, llm: {}}", `2:26: "duration" is a time above 0, such as 2m or 250ms, or a number of seconds, not "0"`)
	f("duration: 30s\nstages: [{rate: 1, for: 1s}]\nclasses:\n  a: {weight: 1, llm: {}}", `1:11: "duration" and "stages" exclude each other: each stage has its length`)
	f("classes:\n  a: {rate: 0, duration: 1s, llm: {}}", `2:13: "rate" must be a number above 0`)
	f("classes:\n  a:\n    llm: {}\n    stages:\n    - {rate: 5}\n    - {from: 5, for: 1s}\n    - {rate: 1, for: x}\n    - {from: 0, to: 0, for: 1s}",
		`5:7: a stage needs its length: add "for", such as "for: 30s"`, `6:7: a stage has "rate", or "from" and "to"`,
		`7:22: "for" is a time above 0, such as 2m or 250ms, or a number of seconds, not "x"`, `8:7: a stage needs a rate above 0`)
	f("classes:\n  a:\n    rate: 5\n    duration: 1s\n    profile: {request-rate: 3}", `5:15: the class has a rate from the scenario: leave --request-rate out`)
	f("classes:\n  a:\n    profile:\n      header: x\n      seed: [1, 2]\n      url: http://${env:UNSET}/",
		`5:13: --seed takes one value, not a list`, `6:12: the environment variable UNSET is not set`)
}

// Rates are mixed by weight: each class gets its share of every stage. Classes have seeds of their own.
func TestArguments(t *testing.T) {
	s, faults, secrets := read(`
seed: 7
arrivals: poisson
stages: [{rate: 10, for: 0.5 min}, {from: 10, to: 50, for: 60}]
options: {json: out.json, assert: [a<1, b<2]}
classes:
  a: {weight: 3, profile: {model: x, url: "http://${env:HOST}", header: ["A: Bearer ${env:TOKEN}", "B: $${env:TOKEN}"], streaming: true, verbose: [true, true]}}
  b: {weight: 1, profile: {model: y, seed: 99, streaming: false}}
  c: {rate: 2.5, duration: 4, profile: {model: z}}
  d: {profile: {request-rate: 3}}
`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	got := []string{strings.Join(scenario.Arguments(s.Options), " ")}
	for i := range s.Classes {
		got = append(got, strings.Join(s.Classes[i].Arguments(), " "))
	}
	want := []string{
		"--json=out.json --assert=a<1 --assert=b<2",
		"-m=x -u=http://gpu:1 --header=A: Bearer s3cret --header=B: ${env:TOKEN} --streaming -v -v --stages=7.5:30s,7.5-37.5:1m0s --distribution=poisson --seed=7",
		"-m=y --seed=99 --stages=2.5:30s,2.5-12.5:1m0s --distribution=poisson",
		"-m=z --stages=2.5:4s --distribution=poisson --seed=9",
		"--request-rate=3 --seed=10",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"s3cret"}, secrets); d != "" { // a host is none
		t.Error(d)
	}
}

// An error of a command is pointed to the option that it names, not to one whose name is a part of it.
func TestLocate(t *testing.T) {
	s, faults, _ := read("classes:\n  a:\n    profile:\n      model: x\n      seed: 1\n      streaming: true\n")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	f := func(text string, line, column int) {
		t.Helper()
		if at := s.Classes[0].Locate(fmt.Errorf("%s", text)); at != (scenario.Position{Line: line, Column: column}) {
			t.Errorf("%s: %v", text, at)
		}
	}
	f("--seed is a number", 5, 13)
	f("-m is missing", 4, 14)
	f("--streaming-x and --seed exclude each other", 5, 13)
	f("something else", 2, 3)
}

// What a run was saved as gives the same command line again. Secrets are not in the file.
func TestSavedRunComesBack(t *testing.T) {
	args := []string{"-m=x", "--header=A: ***", "--header=B-C: ***", "--header=A: ***", "-u=http://***@h:1", "--streaming", "--seed=007", "--json=f", "--assert=p99<1s", "-v", "-v", "--request-rate=${env:X}"}
	g := grammar()
	rows := slices.Concat(g.Commands[0].Rows, g.Run[1:])
	content, variables, err := scenario.Write(scenario.Run{Command: "profile", Args: args, Rows: rows, Whole: []string{"--assert"}, Drop: []string{"--json"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"A", "B_C", "A_2", "URL"}, variables); d != "" {
		t.Error(d)
	}
	s, faults := scenario.Read("s.yaml", content, g, func(name string) string { return "<" + name + ">" }, nil)
	if len(faults) > 0 {
		t.Fatalf("%v in\n%s", faults, content)
	}
	want := []string{"-m=x", "--header=A: <A>", "--header=B-C: <B_C>", "--header=A: <A_2>", "-u=http://<URL>@h:1", "--streaming", "--seed=007", "-v", "-v", "--request-rate=${env:X}"}
	if d := cmp.Diff(want, s.Classes[0].Arguments()); d != "" {
		t.Errorf("%s\n%s", content, d)
	}
	if d := cmp.Diff([]string{"--assert=p99<1s"}, scenario.Arguments(s.Options)); d != "" {
		t.Error(d)
	}
}

// No file makes the reader fail in another way than with faults, and every fault has a place.
func FuzzRead(f *testing.F) {
	f.Add("classes:\n  a: {weight: 1, profile: {model: x}}\nstages: [{rate: 5, for: 1s}]")
	f.Add("classes: &a\n  a: *a\n  <<: {b: 1}")
	f.Add("a: b: c")
	f.Add("classes:\n  a: {rate: 1e400, duration: -1s, llm: {model: [x]}}")
	f.Add("rate: ${env:TOKEN}\nclasses: {a: ~, b: [], '': {}}")
	f.Fuzz(func(t *testing.T, text string) {
		s, faults, _ := read(text)
		for _, fault := range faults {
			if fault.At.Line < 1 || fault.At.Column < 1 || fault.Text == "" {
				t.Errorf("%+v", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		for i := range s.Classes {
			s.Classes[i].Arguments()
		}
	})
}
