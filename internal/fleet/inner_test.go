package fleet

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
)

func TestBlocksKeepEveryField(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var want []record.Record
	var p packer
	for range 1000 {
		sent := rng.Int64N(1e15)
		r := record.Record{
			Due: sent - rng.Int64N(1e6), Sent: sent, Written: sent + rng.Int64N(1e6), First: sent + rng.Int64N(1e6), End: sent + rng.Int64N(1e9), Late: rng.Int64N(1e6),
			SeqID: rng.Uint64(), In: rng.Uint64(), Out: rng.Uint64(), Step: rng.Uint32(), Slot: rng.Uint32(), Class: record.Class(rng.IntN(int(record.NumClasses))),
			Flags: uint8(rng.IntN(32)), Responses: rng.Uint32(),
		}
		if n := len(want); n > 0 && n%3 != 0 { // as in most runs, only times differ
			times := r
			r = want[n-1]
			r.Due, r.Sent, r.Written, r.First, r.End = times.Sent-(r.Sent-r.Due), times.Sent, times.Written, times.First, times.End
		}
		want = append(want, r)
		p.add(&r, []byte(r.Class.String()))
	}
	msg, err := p.block(&Head{Seq: 7, Mark: 42, Failures: []Failure{{Text: "x", Count: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	head, packed, err := unpack(msg)
	if err != nil || head.Seq != 7 || head.Mark != 42 || head.Records != len(want) || head.Failures[0].Count != 3 {
		t.Fatal(head, err)
	}
	var got []record.Record
	if err := eachRecord(packed, head.Records, func(r *record.Record, data []byte) {
		if string(data) != r.Class.String() {
			t.Errorf("the data of a record of class %s are %q", r.Class, data)
		}
		got = append(got, *r)
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if p.n != 0 || len(p.buf) != 0 {
		t.Error("the packer was not emptied")
	}
}

func FuzzBlock(f *testing.F) {
	var p packer
	p.add(&record.Record{Sent: 1, End: 2}, nil)
	msg, err := p.block(&Head{Seq: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(msg)
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		if h, packed, err := unpack(b); err == nil {
			_ = eachRecord(packed, min(h.Records, 1000), func(*record.Record, []byte) {})
		}
	})
}

func TestListsOfFlightsKeepEveryField(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var want []engine.Flight
	for i := range 1 << 16 { // as many slots as an open loop has
		sent := int64(1e15) + rng.Int64N(3e10)
		want = append(want, engine.Flight{Slot: i, Sent: sent, Due: sent - rng.Int64N(1e9)})
	}
	packed := packFlights(want)
	if n := len(encode(reply{Flights: packed})); n > 1<<20 {
		t.Errorf("the answer has %d bytes, more than NATS takes", n)
	}
	got, err := unpackFlights(packed)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	if got, err := unpackFlights(packFlights(nil)); got != nil || err != nil {
		t.Error(got, err)
	}
	if _, err := unpackFlights(packed[:len(packed)/2]); err == nil {
		t.Error("half of a list was read")
	}
}

// Blocks are taken in the order of their numbers, each once. A worker whose blocks have a gap takes no memory without bounds.
func TestBlocksAreTakenInOrder(t *testing.T) {
	r := &Run{crew: &crew{changed: make(chan struct{})}, failed: make(chan struct{}), busy: make(chan struct{}, 1)}
	m := &part{member: &member{Hello: Hello{Name: "a"}}, next: 1, waiting: map[uint64][]byte{}}
	r.parts = []*part{m}
	var got []int64
	r.collect = func(rec *record.Record, _ []record.Event, _ []byte) { got = append(got, rec.End) }
	block := func(seq uint64) []byte {
		var p packer
		p.add(&record.Record{Sent: 1, End: int64(seq)}, nil)
		b, err := p.block(&Head{Seq: seq})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, seq := range []uint64{2, 1, 1, 4, 3, 3, 2, 5} {
		if err := r.order(m, block(seq)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]int64{1, 2, 3, 4, 5}, got); d != "" {
		t.Error(d)
	}
	for seq := range uint64(mostUnsent) {
		if err := r.order(m, block(seq+7)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.order(m, block(1000)); err == nil || err.Error() != "block 6 of its records is missing" {
		t.Errorf("a gap: %v", err)
	}
}

// Failures of many kinds are counted under their class.
func TestGroupsOfFailuresAreBounded(t *testing.T) {
	m := &part{member: &member{}}
	for i := range 3 * engine.MostGroups {
		m.head.Failures = append(m.head.Failures, Failure{Class: record.Server, Text: strings.Repeat("x", i), Count: 1})
	}
	r := &Run{crew: &crew{}, parts: []*part{m}}
	list := r.failures()
	var n uint64
	for _, f := range list {
		n += f.Count
	}
	if len(list) != engine.MostGroups+1 || n != 3*engine.MostGroups {
		t.Errorf("%d groups of %d failures", len(list), n)
	}
}

// A broadcast is done once, and not at all after a later one.
func TestABroadcastIsDoneOnce(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newAssignment(ctx, cancel, &Worker{Redact: func(text string) string { return strings.ReplaceAll(text, "hush", "***") }}, &Job{})
	f := func(number uint64, kind, want string) {
		t.Helper()
		if got := s.once(&request{Number: number, Kind: kind}); got != want {
			t.Errorf("broadcast %d: %q, want %q", number, got, want)
		}
	}
	f(5, "hush", `this version knows no request "***"`)
	f(5, "again", `this version knows no request "***"`)
	f(4, "late", "")
	f(6, "next", `this version knows no request "next"`)
}

// The true offset is within the stated error, whatever way takes how long.
func TestOffsetIsWithinItsError(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var now int64
		ahead := rng.Int64N(2e12) - 1e12
		ask := func(context.Context) (int64, int64, error) {
			now += rng.Int64N(5e6)
			theirs := now + ahead
			now += rng.Int64N(5e6)
			return theirs, theirs + 60e9, nil
		}
		o, err := estimate(t.Context(), ask, func() (int64, int64) { return now, now })
		if err != nil {
			t.Fatal(err)
		}
		if d := o.Ahead - ahead; max(d, -d) > o.Error {
			t.Errorf("the offset is wrong by %d, with a stated error of %d", d, o.Error)
		}
	}
}

// A worker loads the server for ten seconds after the last heartbeat of its coordinator, and not longer.
func TestAWorkerLeavesWithoutHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newAssignment(ctx, cancel, &Worker{}, &Job{Epoch: 1})
		go s.watchCoordinator()
		for range 5 {
			time.Sleep(CoordinatorTimeout - time.Millisecond)
			synctest.Wait()
			if s.ctx.Err() != nil {
				t.Fatal("the worker left while its coordinator was alive")
			}
			s.mu.Lock()
			s.heard = time.Now()
			s.mu.Unlock()
		}
		time.Sleep(CoordinatorTimeout + time.Millisecond)
		synctest.Wait()
		if s.ctx.Err() == nil || !strings.Contains(context.Cause(s.ctx).Error(), "no heartbeat from the coordinator for 10s") {
			t.Errorf("10 s after the last heartbeat: %v", context.Cause(s.ctx))
		}
	})
}

// A file of the run is in the folder of the worker. What the run did not send is where the plan says.
func TestPathsOfTheWorker(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	job := &Job{}
	(&files{folder: dir}).place(job)
	if got := job.Path("in") + " " + job.Path("../t"); got != dir+"/in ../t" {
		t.Error(got)
	}
}

func TestBlocksOfAFleetAreBounded(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 1001, plan.MostWorkers} {
		if rate := float64(n) / interval(n).Seconds(); rate > 10_000.5 {
			t.Errorf("%d workers send %.0f blocks a second", n, rate)
		}
		if interval(n) > unacknowledged {
			t.Errorf("%d workers send a block every %s, and count as lost after %s", n, interval(n), workerTimeout)
		}
	}
}

// The promise that a lost worker is noticed within 5 s is the sum of these times.
func TestALossIsNoticedInTime(t *testing.T) {
	if d := workerTimeout + watchEvery; d >= 5*time.Second {
		t.Errorf("a lost worker is noticed after %s", d)
	}
}

// A worker refuses a plan of another version in one line, which names both.
func TestAPlanOfAnotherVersion(t *testing.T) {
	w := &Worker{Hello: Hello{Version: "2.0.0"}}
	err := w.join(t.Context(), &Job{Run: "old", Plan: &plan.Plan{}, Of: 1, Interval: time.Second, Version: "1.0.0", Protocol: Protocol - 1})
	want := fmt.Sprintf("the plan comes from redline 1.0.0 (messages of version %d), this worker is redline 2.0.0 (version %d): use the same version on all machines", Protocol-1, Protocol)
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// silentOnce is a NATS server whose first connection gets no answer.
type silentOnce struct {
	*server.Server
	first net.Conn
}

func (s *silentOnce) InProcessConn() (net.Conn, error) {
	if s.first != nil {
		return s.Server.InProcessConn()
	}
	client, silent := net.Pipe()
	s.first = silent
	go func() { _, _ = io.Copy(io.Discard, silent) }() // as a kernel takes what is sent
	return client, nil
}

// A connection that takes too long is made again.
func TestConnectsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silentOnce{Server: localServer(t)}
		defer s.WaitForShutdown()
		defer s.Shutdown()
		bus, err := DialLocal(t.Context(), s, &plan.NATS{}, "test")
		if err != nil {
			t.Fatal(err)
		}
		bus.Close()
	})
}

// localServer starts a NATS server without a port.
func localServer(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s
}

// A worker that makes a new connection while it is asked why it is silent hears a later question, and stays in the run. One that hears none is lost.
func TestTheLastQuestionIsRepeated(t *testing.T) {
	f := func(unheard int, want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := localServer(t)
			defer s.WaitForShutdown()
			defer s.Shutdown()
			bus, err := DialLocal(t.Context(), s, &plan.NATS{}, "test")
			if err != nil {
				t.Fatal(err)
			}
			defer bus.Close()
			heard := 0
			if _, err := bus.nc.Subscribe(workerSubject("a"), func(m *nats.Msg) {
				if heard++; heard > unheard {
					_ = m.Respond(encode(reply{Run: "night"}))
				}
			}); err != nil {
				t.Fatal(err)
			}
			r := &crew{ctx: t.Context(), bus: bus, conf: Config{Fleet: plan.Fleet{Run: "night"}}}
			if got := r.askWhy(&member{Hello: Hello{ID: "a"}}, clock.Now()-int64(workerTimeout-lastQuestion)); got != want {
				t.Errorf("%d questions were not heard: %q, want %q", unheard, got, want)
			}
		})
	}
	f(0, "")
	f(2, "")
	f(100, "it sent nothing for 4.7s")
}

// A block that was sent again while a NATS cluster stores it is not refused. Other errors of JetStream are refusals.
func TestABlockThatIsBeingStoredIsNotRefused(t *testing.T) {
	f := func(code server.ErrorIdentifier, want string) {
		t.Helper()
		o := &sender{s: &assignment{job: &Job{}, w: &Worker{Say: func(string, ...any) {}}}}
		e := server.ApiErrors[code]
		o.note(&jetstream.APIError{Code: e.Code, ErrorCode: jetstream.ErrorCode(e.ErrCode), Description: e.Description})
		if got := o.refusal(); got != want {
			t.Errorf("error %d: %q, want %q", code, got, want)
		}
	}
	f(server.JSStreamDuplicateMessageConflict, "")
	f(server.JSInsufficientResourcesErr, "NATS does not take its records: insufficient resources")
}
