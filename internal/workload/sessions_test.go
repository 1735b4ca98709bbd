package workload_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// speaker answers with what it was told to.
type speaker struct{ fake }

var errMute = errors.New("mute")

func (s *speaker) Message(dst []byte, _ []record.Event, responses []byte) ([]byte, error) {
	if len(responses) == 0 {
		return dst, errMute
	}
	return append(dst, responses...), nil
}

func chatModel() *service.Model {
	return &service.Model{Inputs: []service.TensorSpec{spec("payload", tensor.JSON, 1)}, Outputs: []service.TensorSpec{spec("response", tensor.JSON, 1)}}
}

func step(session, delay, text string) string {
	if delay != "" {
		delay = `,"delay":[` + delay + `]`
	}
	return fmt.Sprintf(`{"payload":[{"model":"m", "messages":[{"c":"%s"}], "n":1.50}],"session_id":["%s"]%s}`, text, session, delay)
}

func data(steps ...string) string { return `{"data":[` + strings.Join(steps, ",") + `]}` }

func sessions(t *testing.T, svc service.Messenger, least int, text string) (*workload.Sessions, error) {
	t.Helper()
	d, err := workload.LoadFor(fromJSON(t, text), chatModel(), plan.SessionConcurrency, 0)
	if err != nil {
		return nil, err
	}
	return d.Sessions(svc, least, segment.Segment{}, true)
}

func TestSessionsCarryTheirHistory(t *testing.T) {
	svc := &speaker{}
	all, err := sessions(t, svc, 2, data(step("a", "5", "one"), step("b", "", "x"), step("a", "7", "two"), step("a", "", "three")))
	if err != nil {
		t.Fatal(err)
	}
	if all.Turns() != 4 {
		t.Errorf("%d turns", all.Turns())
	}
	var pauses []time.Duration
	var steps []uint32
	talk := all.Talk()
	for {
		wait, ok := talk.Pause()
		if !ok {
			break
		}
		pauses = append(pauses, wait)
		var c service.Call
		talk.Next(&c)
		steps = append(steps, c.Rec.Step)
		if err := talk.Heard(&c, nil, []byte(fmt.Sprintf(`{"r":%d}`, len(steps)))); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(pauses, []time.Duration{0, 5 * time.Millisecond, 7 * time.Millisecond, 0}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(steps, []uint32{0, 2, 3, 1}); d != "" {
		t.Error(d)
	}
	want := []string{
		`{"model":"m","messages":[{"c":"one"}],"n":1.50}`,
		`{"model":"m","messages":[{"c":"one"},{"r":1},{"c":"two"}],"n":1.50}`,
		`{"model":"m","messages":[{"c":"one"},{"r":1},{"c":"two"},{"r":2},{"c":"three"}],"n":1.50}`,
		`{"model":"m","messages":[{"c":"x"}],"n":1.50}`,
	}
	for i, in := range svc.got {
		if got := string(in.Tensors[0].Data); got != want[i] {
			t.Errorf("turn %d\n got %s\nwant %s", i, got, want[i])
		}
	}
	in := all.Inputs(2)
	if len(in) != 3 || string(in[0].Data) != want[1] || string(in[1].Data) != "\x01\x00\x00\x00a" || in[2].Name != "delay" || in[2].Data[0] != 7 {
		t.Errorf("export of step 2: %+v", in)
	}
	if in := all.Inputs(3); len(in) != 2 {
		t.Errorf("export of a step without delay: %+v", in)
	}
}

// A session whose turn failed is left; the next one begins from nothing.
func TestAFailedSessionIsLeft(t *testing.T) {
	for name, fail := range map[string]func(*workload.Talk, *service.Call) error{
		"failed call": func(talk *workload.Talk, c *service.Call) error {
			c.Rec.Class = record.Server
			return talk.Heard(c, nil, nil)
		},
		"answer that is no message": func(talk *workload.Talk, c *service.Call) error {
			if err := talk.Heard(c, nil, nil); !errors.Is(err, errMute) || !strings.Contains(err.Error(), `"a"`) {
				return fmt.Errorf("heard: %w", err)
			}
			return nil
		},
	} {
		svc := &speaker{}
		all, err := sessions(t, svc, 1, data(step("a", "5", "one"), step("a", "", "two"), step("b", "", "x")))
		if err != nil {
			t.Fatal(err)
		}
		talk := all.Talk()
		var c service.Call
		_, _ = talk.Pause()
		talk.Next(&c)
		if err := fail(talk, &c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Rec.Class = record.OK
		if wait, ok := talk.Pause(); wait != 0 || !ok {
			t.Errorf("%s: %v, %v", name, wait, ok)
		}
		talk.Next(&c)
		if got := string(svc.got[1].Tensors[0].Data); got != `{"model":"m","messages":[{"c":"x"}],"n":1.50}` {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestSessionErrors(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		_, err := sessions(t, &speaker{}, 2, text)
		var e *workload.DataError
		if !errors.As(err, &e) || !strings.HasPrefix(said(err), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	two := step("b", "", "x")
	f("the input data has 1 sessions, fewer than --session-concurrency 2: add sessions, or lower the number", data(step("a", "", "x")))
	f(`step 0 has no "delay", but its session has a later step`, data(step("a", "", "x"), two, step("a", "", "y")))
	f("there is no tensor session_id in step 0 of stream 0", data(`{"payload":[{"messages":[]}]}`, two))
	f("element 0 does not fit the datatype UINT64", data(step("a", "1.5", "x"), two))
	f(`a request is not a JSON object with a list "messages": {"prompt":1}`, data(`{"payload":[{"prompt":1}],"session_id":["a"]}`, two))
	f(`"data" must have one stream: write the steps into "data" itself, not into lists inside of it`, `{"data":[[`+two+`],[`+two+`]]}`)
}

func TestFixedScheduleOrdersByTime(t *testing.T) {
	at := func(ms string, v int) string { return fmt.Sprintf(`{"IN":[%d],"timestamp":[%s]}`, v, ms) }
	text := data(at("90", 1), at("20", 2), at("50", 3), at("0", 4), at("50", 5))
	d, err := workload.LoadFor(fromJSON(t, text), model(tensor.Int32, 1), plan.FixedSchedule, 2)
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	if diff := cmp.Diff(d.Times(), []time.Duration{20 * ms, 90 * ms, 0, 50 * ms, 50 * ms}); diff != "" {
		t.Error(diff)
	}
	svc := &fake{}
	r, err := workload.Prepare(t.Context(), svc, d)
	if err != nil || r.Len() != 5 {
		t.Fatal(r, err)
	}
	var got []byte
	for _, in := range svc.got {
		if len(in.Tensors) != 1 || in.Tensors[0].Name != "IN" {
			t.Fatalf("%+v", in.Tensors)
		}
		got = append(got, in.Tensors[0].Data[0])
	}
	if diff := cmp.Diff(got, []byte{2, 1, 4, 3, 5}); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`{"IN":[1]}`, at("1.5", 1), at("-1", 1), at("99999999999999999", 1)} {
		if _, err := workload.LoadFor(fromJSON(t, data(bad)), model(tensor.Int32, 1), plan.FixedSchedule, 0); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if d, err := workload.LoadFor(fromJSON(t, data(`{"IN":[1]}`)), model(tensor.Int32, 1), plan.Concurrency, 0); err != nil || d.Times() != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// Each session is held by one segment, in the order of the file; the segments together hold all.
func TestSegmentsShareSessions(t *testing.T) {
	var steps []string
	for i := range 23 {
		steps = append(steps, step(fmt.Sprint(i), "", "x"))
	}
	for of := 1; of <= 8; of++ {
		held := map[uint32]int{}
		for i := range of {
			const slots = 5
			part := segment.Segment{Index: i, Of: of}
			if part.Share(slots) == 0 {
				continue // no slot asks for a session
			}
			d, err := workload.LoadFor(fromJSON(t, data(steps...)), chatModel(), plan.SessionConcurrency, 0)
			if err != nil {
				t.Fatal(err)
			}
			all, err := d.Sessions(&speaker{}, slots, part, false)
			if err != nil {
				t.Fatal(err)
			}
			last := -1
			for talk := all.Talk(); ; {
				if _, ok := talk.Pause(); !ok {
					break
				}
				var c service.Call
				talk.Next(&c)
				held[c.Rec.Step]++
				if int(c.Rec.Step) <= last {
					t.Errorf("segment %v holds session %d after %d", part, c.Rec.Step, last)
				}
				last = int(c.Rec.Step)
			}
		}
		for s := range uint32(len(steps)) {
			if held[s] != 1 {
				t.Errorf("%d segments: session %d is held %d times", of, s, held[s])
			}
		}
	}
}

// Sequence ids of segments do not meet: those of a given range are parts of it, one after another; without a range each
// segment chooses from a range of its own.
func TestSegmentsShareSequenceIDs(t *testing.T) {
	m := model(tensor.Int32, 1)
	m.Scheduler, m.MaxBatch = service.SequenceBatcher, 0
	for _, given := range []bool{true, false} {
		in := fromJSON(t, `{"data":[{"IN":[1]}]}`)
		if given {
			in.SequenceStartID, in.SequenceIDRange = 100, 50
		}
		used := map[uint64]int{}
		for i := range 7 {
			d, err := workload.Load(in, m)
			if err != nil {
				t.Fatal(err)
			}
			r, err := workload.Prepare(t.Context(), &fake{}, d)
			if err != nil {
				t.Fatal(err)
			}
			c := r.Sequences(1, segment.Segment{Index: i, Of: 7}).Cursor(0, 0, false)
			for range 100 {
				var call service.Call
				c.Next(&call)
				if other, taken := used[call.Rec.SeqID]; taken && other != i || given && (call.Rec.SeqID < 100 || call.Rec.SeqID >= 150) {
					t.Fatalf("segment %d has the id %d, which belongs to segment %d or to no segment", i, call.Rec.SeqID, other)
				}
				used[call.Rec.SeqID] = i
			}
		}
		if given && len(used) != 50 {
			t.Errorf("%d of 50 ids are used", len(used))
		}
	}
}
