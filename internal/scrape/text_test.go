package scrape_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/internal/scrape"
)

func TestParse(t *testing.T) {
	f := func(text string, want ...scrape.Sample) {
		t.Helper()
		got, err := scrape.Parse(text, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(got.Samples, want, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%q: got, want:\n%s", text, diff)
		}
	}
	sample := func(name string, v float64, labels ...string) scrape.Sample {
		s := scrape.Sample{Name: name, Value: v}
		for i := 0; i < len(labels); i += 2 {
			s.Labels = append(s.Labels, scrape.Label{Name: labels[i], Value: labels[i+1]})
		}
		return s
	}
	f("")
	f("# HELP up Whether it runs.\n# TYPE up gauge\n#\n# EOF\n")
	f("up 1", sample("up", 1))
	f("up 1\r\ndown 0\r\n", sample("up", 1), sample("down", 0))
	f("  up\t 1  \n\n", sample("up", 1))
	f("up{} 1", sample("up", 1))
	f("up {a=\"b\"}1", sample("up", 1, "a", "b"))
	f(`ns:rule{ a = "b" , c="d", } 2 1700000000000`, sample("ns:rule", 2, "a", "b", "c", "d"))
	f(`e{v="a\\b\"c\nd\te}, ="} 1`, sample("e", 1, "v", "a\\b\"c\nd\\te}, ="))
	f(`e{v="größe"} 1`, sample("e", 1, "v", "größe"))
	f("x 1.2e+10\nx -3E-2\nx .5\nx 1.", sample("x", 1.2e10), sample("x", -0.03), sample("x", 0.5), sample("x", 1))
	f("x NaN\nx +Inf\nx -Inf\nx inf\nx 1e999",
		sample("x", math.NaN()), sample("x", math.Inf(1)), sample("x", math.Inf(-1)), sample("x", math.Inf(1)), sample("x", math.Inf(1)))
	f(`h_bucket{le="0.1"} 3 # {trace_id="7"} 0.05 1.5`, sample("h_bucket", 3, "le", "0.1"))
	f(`nv_gpu_utilization{gpu_uuid="GPU-1",model="a"} 0.51`, sample("nv_gpu_utilization", 0.51, "gpu_uuid", "GPU-1", "model", "a"))
}

func TestParseGoesOnAfterBadLines(t *testing.T) {
	f := func(bad, want string) {
		t.Helper()
		got, err := scrape.Parse("up 1\n"+bad+"\ndown 0\n", nil)
		if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one about line 2 with %q", bad, err, want)
		}
		if len(got.Samples) != 2 || !got.Has("up") || !got.Has("down") || got.Has("x") {
			t.Errorf("%q: the good lines around it are %v", bad, got.Samples)
		}
	}
	f("<html>", "no metric name")
	f("1x 2", "no metric name")
	f("x-y 2", "in a metric name")
	f("x", "no value")
	f("x{a=\"b\"}", "no value")
	f("x one", `"one" is not a number`)
	f("x 0x10", "is not a number")
	f("x 1_000", "is not a number")
	f("x 1 soon", "not a timestamp")
	f("x{a} 1", "no = after label a")
	f("x{a=b} 1", "label a has no quoted value")
	f(`x{a="b} 1`, "label a has no quoted value")
	f(`x{a="b\`, "label a has no quoted value")
	f(`x{a="b" c="d"} 1`, "no comma or brace after label a")
	f(`x{="b"} 1`, "no label name")
	f(`x{a="b",`, "no label name")
}

func TestParseKeeps(t *testing.T) {
	text := "# TYPE a counter\n# TYPE b gauge\na 1\nb 2\n"
	got, err := scrape.Parse(text, func(name string) bool { return name == "b" })
	want := &scrape.Page{Samples: []scrape.Sample{{Name: "b", Value: 2}}, Types: map[string]string{"b": "gauge"}}
	if diff := cmp.Diff(got, want); diff != "" || err != nil {
		t.Errorf("%v; got, want:\n%s", err, diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# TYPE up gauge\nup 1\n")
	f.Add(`x{a="b\\\"\n",c="d",} 1.5e-3 1700000000000`)
	f.Add("x NaN\nx +Inf # {a=\"b\"} 1\n")
	f.Add(`x{a="`)
	f.Fuzz(func(t *testing.T, text string) {
		page, err := scrape.Parse(text, nil)
		lines := strings.Count(text, "\n") + 1
		if len(page.Samples) > lines {
			t.Fatalf("%d samples in %d lines", len(page.Samples), lines)
		}
		for _, s := range page.Samples {
			if s.Name == "" || strings.ContainsAny(s.Name, " {}\"\n") {
				t.Errorf("name %q", s.Name)
			}
		}
		// A page written from what was read reads the same.
		again, err2 := scrape.Parse(write(page), nil)
		if err2 != nil {
			t.Fatalf("second reading: %v (the first: %v)", err2, err)
		}
		if diff := cmp.Diff(again.Samples, page.Samples, cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	})
}
