package modelconfig

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

const sample = `{"name":"m","backend":"python","max_batch_size":8,
 "input":[{"name":"A","data_type":"TYPE_FP32","dims":["-1"]}],"output":[{"name":"B","data_type":"TYPE_FP32","dims":["-1","3"]}],
 "instance_group":[{"name":"m_0","kind":"KIND_CPU","count":1}],
 "dynamic_batching":{"preferred_batch_size":[8]},
 "parameters":{"b":{"string_value":"a \"quote\"\nand é"},"a":{"string_value":"2"}}}`

func parse(t *testing.T, text string) Config {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWith(t *testing.T) {
	f := func(setting, value, has string) {
		t.Helper()
		c, err := parse(t, sample).With(setting, value)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(c.Text()), " "); !strings.Contains(text, has) {
			t.Errorf("%s=%s: no %q in\n%s", setting, value, has, c.Text())
		}
		if got := c.Value(setting); got != value {
			t.Errorf("%s=%s reads as %s", setting, value, got)
		}
	}
	f(Instances, "4", "count: 4")
	f(MaxBatch, "32", "max_batch_size: 32")
	f(MaxBatch, "4", "dynamic_batching { }") // the preferred size was derived from the largest batch
	f(QueueDelay, "100us", "max_queue_delay_microseconds: 100")
	f(QueueDelay, "1.5ms", "max_queue_delay_microseconds: 1500")
	f(QueueDelay, "off", "parameters")
	f(Preferred, "2+4", "preferred_batch_size: [ 2, 4 ]")
	f(Preferred, "none", "dynamic_batching { }")
}

func TestCannot(t *testing.T) {
	f := func(text, setting, value, want string) {
		t.Helper()
		_, err := parse(t, text).With(setting, value)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: %v, want %s", setting, value, err, want)
		}
	}
	f(`{"name":"m"}`, MaxBatch, "4", "does not batch")
	f(`{"name":"m","max_batch_size":4,"sequence_batching":{}}`, QueueDelay, "0", "keeps sequences")
	f(`{"name":"m","ensemble_scheduling":{"step":[{"model_name":"a"}]}}`, Instances, "2", "is an ensemble")
	f(sample, Preferred, "16", "above the largest batch of 8")
	f(sample, Instances, "x", "whole number")
	f(sample, MaxBatch, "4294967297", "whole number")
}

// The text reads back as the same configuration, and equal configurations have equal texts.
func TestTextReadsBack(t *testing.T) {
	c := parse(t, sample)
	back := &kserve.ModelConfig{}
	if err := prototext.Unmarshal([]byte(c.Text()), back); err != nil {
		t.Fatalf("%v in\n%s", err, c.Text())
	}
	if !proto.Equal(back, c.pb) || c.Text() != parse(t, sample).Text() {
		t.Errorf("the text does not read back as the configuration:\n%s", c.Text())
	}
	changed, err := c.With(Instances, "4")
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff("old", c, "new", changed); !strings.Contains(d, "-  count: 1\n+  count: 4\n") {
		t.Errorf("diff:\n%s", d)
	}
	if d := Diff("old", c, "new", c); d != "" {
		t.Errorf("a diff of equal configurations:\n%s", d)
	}
}

// Fields that the program does not know, of a newer server, are in the override and in the text, also after a change.
func TestUnknownFieldsStay(t *testing.T) {
	const newer = `{"name":"m","max_batch_size":8,"new_flag":true,"new_policy":{"limit":3,"names":["a b","KIND_NEW"],"of":{"x y":"1"}},
 "input":[{"name":"A","data_type":"TYPE_FP4","dims":["-1"],"is_new":"yes"}],
 "instance_group":[{"kind":"KIND_CPU","count":1},{"kind":"KIND_CPU","count":1,"affinity":"12"}],
 "dynamic_batching":{"new_delay":7},"parameters":{"p":{"string_value":"v","sealed":true}}}`
	c := parse(t, newer)
	changed, err := c.With(Instances, "4")
	if err != nil {
		t.Fatal(err)
	}
	json, err := changed.JSON()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(changed.Text()), " ")
	for _, want := range []string{
		"new_flag: true", `limit: 3 names: "a b" names: KIND_NEW of { key: "x y" value: 1 }`, `data_type: TYPE_FP4`, `is_new: "yes"`, "affinity: 12", "new_delay: 7",
		"sealed: true", `# Redline does not know the field "new_flag"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, changed.Text())
		}
	}
	back := parse(t, string(json))
	if !back.Equal(changed) || back.Equal(c) || back.Text() != changed.Text() {
		t.Errorf("the override\n%s\nreads back as\n%s", json, back.Text())
	}
	if d := Diff("old", c, "new", changed); strings.Contains(d, "-  affinity") {
		t.Errorf("the diff changes a field that did not change:\n%s", d)
	}
	off, err := changed.With(QueueDelay, Off)
	if err != nil {
		t.Fatal(err)
	}
	if json, err := off.JSON(); err != nil || strings.Contains(string(json), "new_delay") || strings.Contains(off.Text(), "new_delay") {
		t.Errorf("a field of the batcher that was removed is left: %v\n%s", err, json)
	}
	without := parse(t, strings.Replace(newer, `"new_flag":true,`, "", 1))
	if without.Equal(c) {
		t.Error("configurations that differ in an unknown field are equal")
	}
}

// Instance groups with different counts have no common count.
func TestCountsOfGroups(t *testing.T) {
	c := parse(t, `{"name":"m","instance_group":[{"count":1},{"count":3}]}`)
	if got := c.Value(Instances); got != "1+3" {
		t.Errorf("instances %s", got)
	}
	all, err := c.With(Instances, "2")
	if err != nil || all.Value(Instances) != "2" {
		t.Errorf("instances %s, %v", all.Value(Instances), err)
	}
}
