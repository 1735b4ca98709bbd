package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Config is what a coordinator needs to know of its run.
type Config struct {
	Fleet   plan.Fleet
	Command string
	Version string
	// Line is the command line without secrets.
	Line string
	Plan *plan.Plan
	// Say prints a line for the user, Warn one about something that may be wrong.
	Say, Warn func(format string, args ...any)
}

// Run is a run of a fleet, as its coordinator has it. It implements profile.Fleet.
type Run struct {
	conf    Config
	bus     *Bus
	claim   *claim
	stream  jetstream.Stream
	store   jetstream.ObjectStore
	members []*member
	levels  int // that are kept in the store
	known   []profile.Done

	ctx     context.Context // ends with the run
	cancel  context.CancelFunc
	work    sync.WaitGroup
	collect func(r *record.Record, events []record.Event, data []byte)
	busy    chan struct{} // a lock: the collector has it while it passes records on, and Sync

	mu       sync.Mutex
	changed  chan struct{} // closed and made anew when something of the members changes
	number   uint64        // of the last broadcast
	gen      uint64        // of the last load
	cleared  uint64        // failures of loads before this one do not count
	restart  bool
	clear    bool
	start    int64 // of the last load
	skew     int64
	failed   chan struct{}
	broken   error
	sequence uint64 // of the last block in the stream that was read
	groups   []*group

	reconnected int64 // the last time of a block after which no other came and the connection was made again; only watch uses it
}

// saved is what another coordinator needs to take the run up.
type saved struct {
	Line    string     `json:"command_line"`
	Version string     `json:"version"`
	Plan    *plan.Plan `json:"plan"`
}

const planObject = "plan.json"

func levelObject(n int) string { return fmt.Sprintf("level.%06d.json", n) }

// Gather claims the name of a run, waits for its workers and has them prepare. End must be called, also after an error.
func Gather(ctx context.Context, bus *Bus, conf Config) (*Run, error) {
	host, _ := os.Hostname() // a machine without a name has none
	c, err := bus.take(ctx, conf.Fleet.Run, Entry{Host: host, PID: os.Getpid(), Version: conf.Version, Command: conf.Command})
	if err != nil {
		return nil, err
	}
	r := newRun(ctx, bus, conf, c)
	return r, r.gather(ctx)
}

// Attach claims a run whose coordinator is gone. Its plan lacks secrets. Resume has workers go on with it.
func Attach(ctx context.Context, bus *Bus, conf Config) (*Run, error) {
	host, _ := os.Hostname()
	c, err := bus.takeUp(ctx, conf.Fleet.Run, Entry{Host: host, PID: os.Getpid(), Version: conf.Version})
	if err != nil {
		return nil, err
	}
	r := newRun(ctx, bus, conf, c)
	if c.entry.Command != "profile" {
		r.Abandon(ctx)
		return nil, fmt.Errorf("run %s is of redline %s, which cannot be taken up: remove it with 'redline attach %s --drop' and start it again", conf.Fleet.Run, c.entry.Command, conf.Fleet.Run)
	}
	if err := r.load(ctx); err != nil {
		r.Abandon(ctx)
		return nil, err
	}
	return r, nil
}

// Drop removes what NATS has of a run whose coordinator is gone.
func Drop(ctx context.Context, bus *Bus, conf Config) error {
	c, err := bus.takeUp(ctx, conf.Fleet.Run, Entry{Version: conf.Version})
	if err != nil {
		return err
	}
	newRun(ctx, bus, conf, c).End(ctx)
	return nil
}

func newRun(ctx context.Context, bus *Bus, conf Config, c *claim) *Run {
	r := &Run{conf: conf, bus: bus, claim: c, changed: make(chan struct{}), failed: make(chan struct{}), busy: make(chan struct{}, 1)}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.work.Go(func() { c.hold(r.ctx, r.breakDown) })
	return r
}

// Plan is the plan of a run that was taken up, without secrets.
func (r *Run) Plan() *plan.Plan { return r.conf.Plan }

// Known are the levels of a run that was taken up that are over.
func (r *Run) Known() []profile.Done { return r.known }

// Resume has workers go on with a run that was taken up.
func (r *Run) Resume(ctx context.Context, p *plan.Plan) error {
	r.conf.Plan = p
	return r.gather(ctx)
}

// gather finds the workers and has them prepare.
func (r *Run) gather(ctx context.Context) error {
	public, secrets, names := strip(r.conf.Plan).Withhold()
	if names != nil && !r.bus.Secure() {
		return fmt.Errorf("%s: a secret is not sent to the workers without TLS: use tls:// in --nats, or write the value as ${env:NAME} or ${file:PATH}, which each worker reads from its own environment or files",
			strings.Join(slices.Compact(names), ", "))
	}
	hellos, err := r.find(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(hellos, func(h Hello) bool { return names != nil && !h.TLS }); i >= 0 {
		return fmt.Errorf("worker %s is connected to NATS without TLS, so it is sent no secret (%s): start it with tls:// in --nats", hellos[i].Name, strings.Join(slices.Compact(names), ", "))
	}
	files, err := r.open(ctx, public)
	if err != nil {
		return err
	}
	job := Job{
		Run: r.conf.Fleet.Run, Command: r.conf.Command, Version: r.conf.Version, Protocol: Protocol, Epoch: r.claim.entry.Epoch, Of: len(hellos),
		Plan: public, Secrets: secrets, Files: files, Interval: interval(len(hellos)),
	}
	for i, h := range hellos {
		r.members = append(r.members, &member{Hello: h, index: i, next: 1, waiting: map[uint64][]byte{}})
	}
	r.work.Go(r.beat)
	if err := r.measureClocks(ctx); err != nil {
		return err
	}
	r.lock(r.adoptClocks)
	if err := r.join(ctx, job); err != nil {
		return err
	}
	if err := r.consume(); err != nil {
		return err
	}
	now := clock.Now()
	r.lock(func() {
		for _, m := range r.members {
			m.seen = now
		}
	})
	r.work.Go(r.watch)
	r.work.Go(r.keepClocks)
	return nil
}

// strip leaves out what only the coordinator does.
func strip(p *plan.Plan) *plan.Plan {
	return p.With(func(p *plan.Plan) {
		p.Fleet, p.Outcome, p.Output = plan.Fleet{}, plan.Outcome{}, plan.Output{}
		p.Target.Embedded, p.Target.EmbeddedArgs = false, nil
		p.Target.Metrics = plan.Metrics{}
	})
}

// find waits for enough free workers. All takes those that answer within a short time.
func (r *Run) find(ctx context.Context) ([]Hello, error) {
	wanted := r.conf.Fleet.Wanted()
	deadline, settle := time.Now().Add(r.conf.Fleet.Wait), time.Now().Add(time.Second)
	told := -1
	for {
		free, others, err := r.ask(ctx)
		if err != nil {
			return nil, err
		}
		switch {
		case wanted > 0 && len(free) >= wanted:
			return free[:wanted], nil
		case wanted == 0 && len(free) > 0 && time.Now().After(settle):
			return free, nil
		case len(free) != told && len(free) < max(1, wanted):
			told = len(free)
			r.conf.Say("run %s waits for workers: %d of %s; start them with: redline worker --nats %s", r.conf.Fleet.Run, told, r.conf.Fleet.Workers, r.bus.at)
		}
		if time.Now().After(deadline) {
			return nil, r.tooFew(len(free), others)
		}
	}
}

func (r *Run) tooFew(free int, others []Hello) error {
	var why strings.Builder
	for _, h := range others {
		if h.Protocol != Protocol {
			fmt.Fprintf(&why, "; worker %s is redline %s, this is redline %s", h.Name, h.Version, r.conf.Version)
		} else {
			fmt.Fprintf(&why, "; worker %s works for run %s", h.Name, h.Run)
		}
	}
	return fmt.Errorf("%d of %s workers joined within %s%s; start more with 'redline worker --nats %s', or wait longer with --worker-wait",
		free, r.conf.Fleet.Workers, r.conf.Fleet.Wait, why.String(), r.bus.at)
}

// ask lists the workers that answer within a quarter of a second, in the order of their names.
func (r *Run) ask(ctx context.Context) (free, others []Hello, err error) {
	inbox := r.bus.nc.NewRespInbox()
	answers := make(chan *nats.Msg, 1<<16)
	sub, err := r.bus.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, nil, fmt.Errorf("look for workers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := r.bus.nc.PublishRequest(helloSubject, inbox, nil); err != nil {
		return nil, nil, fmt.Errorf("look for workers: %w", err)
	}
	timer := time.NewTimer(250 * time.Millisecond)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil, profile.ErrInterrupted
		case <-timer.C:
			slices.SortFunc(free, func(a, b Hello) int { return strings.Compare(a.Name+a.ID, b.Name+b.ID) })
			return free, others, nil
		case m := <-answers:
			var h Hello
			if json.Unmarshal(m.Data, &h) != nil {
				continue
			}
			h.Name, h.Host, h.Version, h.Run = cleantext.Line(h.Name), cleantext.Line(h.Host), cleantext.Line(h.Version), cleantext.Line(h.Run)
			if h.Protocol == Protocol && (h.Run == "" || h.Run == r.conf.Fleet.Run) {
				free = append(free, h)
			} else {
				others = append(others, h)
			}
		}
	}
}

// open makes the stream and the store of the run, and keeps the plan and the input files in it.
func (r *Run) open(ctx context.Context, public *plan.Plan) (files []File, err error) {
	name := r.conf.Fleet.Run
	r.stream, err = r.bus.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: streamName(name), Subjects: []string{"redline.records." + name + ".>"}, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
		Description: "records of redline's run " + name,
	})
	if err != nil {
		return nil, r.bus.explainJetStream("make the stream of the records", err)
	}
	// A level that was in progress when the last coordinator ended is measured again.
	if err := r.stream.Purge(ctx); err != nil {
		return nil, r.bus.explainJetStream("remove the records of the level in progress", err)
	}
	if r.store == nil {
		_ = r.bus.js.DeleteObjectStore(ctx, storeName(name)) // of an earlier run with this name that could not remove it
		r.store, err = r.bus.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: storeName(name), Description: "plan, levels and input data of redline's run " + name})
		if err != nil {
			return nil, r.bus.explainJetStream("make the store of the run", err)
		}
	}
	kept, _, _ := r.conf.Plan.Withhold()
	kept = kept.With(func(p *plan.Plan) { p.Fleet.NATS = plan.NATS{} })
	if err := r.keep(ctx, planObject, saved{Line: r.conf.Line, Version: r.conf.Version, Plan: kept}); err != nil {
		return nil, err
	}
	return upload(ctx, r.store, public)
}

// load reads what another coordinator has left.
func (r *Run) load(ctx context.Context) error {
	var err error
	if r.store, err = r.bus.js.ObjectStore(ctx, storeName(r.conf.Fleet.Run)); err != nil {
		return fmt.Errorf("run %s ended before its plan was kept: remove it with 'redline attach %s --drop' and start it again", r.conf.Fleet.Run, r.conf.Fleet.Run)
	}
	var s saved
	if err := r.read(ctx, planObject, &s); err != nil {
		return fmt.Errorf("run %s ended before its plan was kept: remove it with 'redline attach %s --drop' and start it again", r.conf.Fleet.Run, r.conf.Fleet.Run)
	}
	r.conf.Line, r.conf.Plan = s.Line, s.Plan
	if s.Version != r.conf.Version {
		return fmt.Errorf("run %s was begun by redline %s, this is redline %s: take it up with the same version", r.conf.Fleet.Run, s.Version, r.conf.Version)
	}
	for {
		var d profile.Done
		switch err := r.read(ctx, levelObject(r.levels), &d); {
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return nil
		case err != nil:
			return r.bus.explainJetStream("read the levels that are over", err)
		}
		r.known = append(r.known, d)
		r.levels++
	}
}

func (r *Run) keep(ctx context.Context, name string, v any) error {
	_, err := r.store.PutBytes(ctx, name, encode(v))
	return r.bus.explainJetStream("keep "+name, err)
}

func (r *Run) read(ctx context.Context, name string, to any) error {
	b, err := r.store.GetBytes(ctx, name)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

// join has all workers prepare their share.
func (r *Run) join(ctx context.Context, job Job) error {
	errs := make([]error, len(r.members))
	r.each(func(m *member) {
		j := job
		j.Index = m.index
		ctx, cancel := context.WithTimeout(ctx, prepareTime)
		defer cancel()
		answer, err := r.request(ctx, m, request{Kind: kindJoin, Job: &j})
		switch {
		case err != nil:
			errs[m.index] = fmt.Errorf("ask worker %s to join: %w", m.Name, err)
		case answer.Error != "":
			errs[m.index] = fmt.Errorf("worker %s: %s", m.Name, answer.Error)
		default:
			r.lock(func() { m.joined = true })
		}
	})
	if ctx.Err() != nil {
		return profile.ErrInterrupted
	}
	for _, err := range errs {
		if err != nil {
			return err // one line is enough; others usually have the same reason
		}
	}
	return nil
}

// each calls fn for all members, several at a time.
func (r *Run) each(fn func(*member)) {
	const most = 64
	var wait sync.WaitGroup
	gate := make(chan struct{}, most)
	for _, m := range r.members {
		gate <- struct{}{}
		wait.Go(func() {
			defer func() { <-gate }()
			fn(m)
		})
	}
	wait.Wait()
}

// request asks one worker. A request that gets no answer is repeated until ctx ends.
func (r *Run) request(ctx context.Context, m *member, q request) (reply, error) {
	data := encode(q)
	most := repeatEvery
	if q.Kind == kindJoin {
		most = requestTime // a worker that prepares answers the repeated request when it is ready
	}
	for {
		once, cancel := context.WithTimeout(ctx, most)
		msg, err := r.bus.nc.RequestWithContext(once, workerSubject(m.ID), data)
		cancel()
		if err == nil {
			return readReply(msg)
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return reply{}, fmt.Errorf("the plan has %d bytes, and a message of NATS at most %d: use fewer input files, or raise max_payload of nats-server", len(data), r.bus.nc.MaxPayload())
		}
		if ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) {
			return reply{}, err
		}
		if errors.Is(err, nats.ErrNoResponders) && !pause(ctx, repeatEvery) {
			return reply{}, err
		}
	}
}

// readReply reads an answer of a worker.
func readReply(msg *nats.Msg) (reply, error) {
	var a reply
	err := json.Unmarshal(msg.Data, &a)
	a.Error = cleantext.Line(a.Error)
	return a, err
}

// Close implements profile.Load: records that come now are of no use. End ends the run.
func (r *Run) Close() error {
	r.Open(nil)
	return nil
}

// End lets the workers go and removes what NATS has of the run. Abandon leaves it.
func (r *Run) End(ctx context.Context) {
	if r.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	r.leave(ctx)
	if r.taken(ctx) {
		return
	}
	_ = r.bus.js.DeleteStream(ctx, streamName(r.conf.Fleet.Run)) // what cannot be removed now is no harm to other runs
	_ = r.bus.js.DeleteObjectStore(ctx, storeName(r.conf.Fleet.Run))
	r.claim.release(ctx)
}

// leave lets the workers go and ends what this process does for the run.
func (r *Run) leave(ctx context.Context) {
	if len(r.members) > 0 {
		_, _ = r.broadcast(ctx, request{Kind: kindLeave}) // a worker that does not hear it leaves without heartbeats
	}
	r.cancel()
	r.work.Wait()
}

// Abandon lets the workers go and leaves what NATS has of the run for another coordinator.
func (r *Run) Abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	r.leave(ctx)
}

// Leftover passes the records on that NATS has of the level in progress, with its warm-up. Their times are known to within the clocks of
// the workers' machines and of NATS.
func (r *Run) Leftover(each func(*record.Record)) error {
	ctx, cancel := context.WithTimeout(r.ctx, prepareTime)
	defer cancel()
	stream, err := r.bus.js.Stream(ctx, streamName(r.conf.Fleet.Run))
	if err != nil {
		return r.bus.explainJetStream("find the records", err)
	}
	info, err := stream.Info(ctx)
	if err != nil || info.State.Msgs == 0 {
		return r.bus.explainJetStream("find the records", err)
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch))
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	defer messages.Stop()
	base := map[string]int64{} // the offset of each worker's clock, by the time at which NATS stored its first block
	for {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return r.bus.explainJetStream("read the records", err)
		}
		head, records, err := unpack(msg.Data())
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return r.bus.explainJetStream("read the records", err)
		}
		if _, ok := base[msg.Subject()]; !ok {
			base[msg.Subject()] = head.Mark - (meta.Timestamp.UnixNano() - clock.Wall(0))
		}
		if err := eachRecord(records, head.Records, func(rec *record.Record) {
			shift(rec, base[msg.Subject()])
			each(rec)
		}); err != nil {
			return err
		}
		if meta.Sequence.Stream >= info.State.LastSeq {
			return nil
		}
	}
}

// taken tells whether another coordinator has the run.
func (r *Run) taken(ctx context.Context) bool {
	e, err := r.claim.kv.Get(ctx, r.claim.name)
	var entry Entry
	return err == nil && json.Unmarshal(e.Value(), &entry) == nil && entry.Epoch != r.claim.entry.Epoch
}

// Result is what a result says of the fleet.
func (r *Run) Result() *result.Fleet {
	f := &result.Fleet{Run: r.conf.Fleet.Run}
	r.lock(func() {
		f.StartSkewNs = r.skew
		for _, m := range r.members {
			f.Members = append(f.Members, result.Member{
				Name: m.Name, Host: m.Host, Version: m.Version, MaxProcs: m.MaxProcs, ClockErrorNs: m.clock.Error, Lost: m.lost, LostUnixNs: m.lostAt, Records: m.records,
			})
			f.ClockErrorNs = max(f.ClockErrorNs, m.clock.Error)
		}
	})
	return f
}
