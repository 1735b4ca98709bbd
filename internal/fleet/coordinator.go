package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

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
	// Plan is what the workers do; a command without a plan has a Task.
	Plan *plan.Plan
	Task *Task
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
	begun    int   // the members before this one have begun the last load
	skew     int64
	failed   chan struct{}
	broken   error
	sequence uint64 // of the last block in the stream that was read
	groups   []*group

	reconnected int64 // the last time of a block after which no other came and the connection was made again; only watch uses it
}

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
	job, names, advice := r.job()
	if names != nil && !r.bus.Secure() {
		return fmt.Errorf("%s: a secret is not sent to the workers without TLS: use tls:// in --nats, or %s", strings.Join(slices.Compact(names), ", "), advice)
	}
	hellos, err := r.find(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(hellos, func(h Hello) bool { return names != nil && !h.TLS }); i >= 0 {
		return fmt.Errorf("worker %s is connected to NATS without TLS, so it is sent no secret (%s): start it with tls:// in --nats", hellos[i].Name, strings.Join(slices.Compact(names), ", "))
	}
	if err := r.open(ctx, &job); err != nil {
		return err
	}
	job.Of, job.Interval = len(hellos), interval(len(hellos))
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

// job is what all workers of the run get, the names of the options whose secrets are in it, and how the user gives them in another way.
func (r *Run) job() (job Job, names []string, advice string) {
	job = Job{Run: r.conf.Fleet.Run, Command: r.conf.Command, Version: r.conf.Version, Protocol: Protocol, Epoch: r.claim.entry.Epoch}
	if t := r.conf.Task; t != nil {
		job.Options, job.Secrets, job.Inputs = t.Options, t.Secrets, t.Inputs
		return job, t.Names, t.Advice
	}
	job.Plan, job.Secrets, names = strip(r.conf.Plan).Withhold()
	return job, names, "write the value as ${env:NAME} or ${file:PATH}, which each worker reads from its own environment or files"
}

// strip leaves out what only the coordinator does.
func strip(p *plan.Plan) *plan.Plan {
	return p.With(func(p *plan.Plan) {
		p.Fleet, p.Outcome, p.Output = plan.Fleet{}, plan.Outcome{}, plan.Output{}
		p.Target.Embedded, p.Target.EmbeddedArgs = false, nil
		p.Target.Metrics = plan.Metrics{}
	})
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
