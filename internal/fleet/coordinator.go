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
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// Config is what a coordinator needs to know of its run.
type Config struct {
	Fleet   plan.Fleet
	Command string
	Version string
	// Line is the command line without secrets.
	Line string
	// Plan is what the workers do; a command with a plan of its own has a Task.
	Plan *plan.Plan
	Task *Task
	// Say prints a line for the user, Warn one about something that may be wrong.
	Say, Warn func(format string, args ...any)
}

// Work is one load of a run: the whole run of a command, or a class of a scenario.
type Work struct {
	Class   string // empty if the run has one load
	Command string
	Plan    *plan.Plan // of a command that has one
	Task    *Task
}

// crew is the workers of a run, and what the loads of the run share.
type crew struct {
	conf    Config
	bus     *Bus
	claim   *claim
	stream  jetstream.Stream
	store   jetstream.ObjectStore
	workers []*member
	runs    []*Run

	ctx    context.Context // ends with the run
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when something of the run changes
	broken  error

	reconnected int64 // the last time of a block after which no other came and the connection was made again; only watch uses it
}

// Run is a load of a fleet, as its coordinator has it. It implements run.Load. A run of one command has one; the classes of a scenario
// have one each, on the same workers.
type Run struct {
	*crew
	todo   Work
	index  int // of this load
	parts  []*part
	levels int // that are kept in the store
	known  []run.Done
	kept   []string // the options of a run that was taken up and has no plan

	collect run.Collect
	flying  run.Flying
	busy    chan struct{} // a lock: the collector has it while it passes records on, and Sync

	// The lock of the crew guards these.
	number    uint64 // of the last broadcast
	gen       uint64 // of the last level or warm-up
	cleared   uint64 // failures of levels before this one do not count
	start     int64  // of the last level or warm-up
	begun     int    // the parts before this one have begun the last load
	skew      int64
	failed    chan struct{}
	sequence  uint64           // of the last block in the stream that was read
	list      []engine.Failure // of all workers
	groups    engine.Groups
	notBefore int64 // when the next level begins at the earliest; only the caller of begin uses it
}

// Gather claims the name of a run, waits for its workers and has them prepare. End must be called, also after an error.
func Gather(ctx context.Context, bus *Bus, conf Config) (*Run, error) {
	list, err := GatherAll(ctx, bus, conf, []Work{{Command: conf.Command, Plan: conf.Plan, Task: conf.Task}})
	if list == nil {
		return nil, err
	}
	return list[0], err
}

// GatherAll is Gather for a run with several loads, which the same workers make at the same time. It returns one Run for each. End of any of
// them ends the whole run.
func GatherAll(ctx context.Context, bus *Bus, conf Config, loads []Work) ([]*Run, error) {
	host, _ := os.Hostname() // a machine without a name has none
	claim, err := bus.take(ctx, conf.Fleet.Run, Entry{Host: host, PID: os.Getpid(), Version: conf.Version, Command: conf.Command})
	if err != nil {
		return nil, err
	}
	c := newCrew(ctx, bus, conf, claim, loads)
	return c.runs, c.gather(ctx)
}

// Attach claims a run whose coordinator is gone. Its plan lacks secrets. Resume has workers go on with it.
func Attach(ctx context.Context, bus *Bus, conf Config) (*Run, error) {
	host, _ := os.Hostname()
	claim, err := bus.takeUp(ctx, conf.Fleet.Run, Entry{Host: host, PID: os.Getpid(), Version: conf.Version})
	if err != nil {
		return nil, err
	}
	c := newCrew(ctx, bus, conf, claim, []Work{{Command: claim.entry.Command}})
	r := c.runs[0]
	if !slices.Contains([]string{"profile", "llm"}, claim.entry.Command) {
		r.Abandon(ctx)
		return nil, fmt.Errorf("run %s is of redline %s, which cannot be taken up: remove it with 'redline attach %s --drop' and start it again", conf.Fleet.Run, claim.entry.Command, conf.Fleet.Run)
	}
	if err := r.readKept(ctx); err != nil {
		r.Abandon(ctx)
		return nil, err
	}
	return r, nil
}

// Drop removes what NATS has of a run whose coordinator is gone.
func Drop(ctx context.Context, bus *Bus, conf Config) error {
	claim, err := bus.takeUp(ctx, conf.Fleet.Run, Entry{Version: conf.Version})
	if err != nil {
		return err
	}
	newCrew(ctx, bus, conf, claim, nil).End(ctx)
	return nil
}

func newCrew(ctx context.Context, bus *Bus, conf Config, claim *claim, loads []Work) *crew {
	c := &crew{conf: conf, bus: bus, claim: claim, changed: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for i, todo := range loads {
		c.runs = append(c.runs, &Run{crew: c, todo: todo, index: i, failed: make(chan struct{}), busy: make(chan struct{}, 1)})
	}
	c.work.Go(func() { claim.hold(c.ctx, c.breakDown) })
	return c
}

// Command is the command of a run that was taken up.
func (r *Run) Command() string { return r.todo.Command }

// Plan is the plan of a run that was taken up, without secrets.
func (r *Run) Plan() *plan.Plan { return r.todo.Plan }

// Options are those of a run that was taken up and has no plan, without secrets.
func (r *Run) Options() []string { return r.kept }

// Known are the levels of a run that was taken up that are over.
func (r *Run) Known() []run.Done { return r.known }

// Resume has workers go on with a run that was taken up: as many as f asks for, each with its share of the plan, or of the task.
func (r *Run) Resume(ctx context.Context, f plan.Fleet, p *plan.Plan, t *Task) error {
	r.todo.Plan, r.todo.Task = p, t
	r.conf.Fleet.Workers, r.conf.Fleet.OnLoss, r.conf.Fleet.Wait = f.Workers, f.OnLoss, f.Wait
	return r.gather(ctx)
}

// gather finds the workers and has them prepare.
func (r *crew) gather(ctx context.Context) error {
	jobs := make([]Job, len(r.runs))
	var names []string
	for i, run := range r.runs {
		job, of, advice := run.job()
		if of != nil && !r.bus.Secure() {
			return fmt.Errorf("%s: a secret is not sent to the workers without TLS: use tls:// in --nats, or %s", strings.Join(slices.Compact(of), ", "), advice)
		}
		jobs[i], names = job, append(names, of...)
	}
	hellos, err := r.find(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(hellos, func(h Hello) bool { return names != nil && !h.TLS }); i >= 0 {
		return fmt.Errorf("worker %s is connected to NATS without TLS, so it is sent no secret (%s): start it with tls:// in --nats", hellos[i].Name, strings.Join(slices.Compact(names), ", "))
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	r.enlist(hellos)
	r.work.Go(r.beat)
	if err := r.measureClocks(ctx); err != nil {
		return err
	}
	for i, run := range r.runs {
		if err := run.prepare(ctx, &jobs[i]); err != nil {
			return err
		}
	}
	now := clock.Now()
	r.lock(func() {
		for _, p := range r.allParts() {
			p.seen = now
		}
	})
	r.work.Go(r.watch)
	r.work.Go(r.keepClocks)
	return nil
}

// enlist makes the workers that answered the members of the crew.
func (r *crew) enlist(hellos []Hello) {
	for i, h := range hellos {
		m := &member{Hello: h, index: i}
		r.workers = append(r.workers, m)
		for _, run := range r.runs {
			run.parts = append(run.parts, &part{member: m, next: 1, waiting: map[uint64][]byte{}})
		}
	}
}

// allParts are the workers as all loads know them.
func (r *crew) allParts() []*part {
	var out []*part
	for _, run := range r.runs {
		out = append(out, run.parts...)
	}
	return out
}

// prepare has the workers prepare their shares of the load.
func (r *Run) prepare(ctx context.Context, job *Job) error {
	if err := r.keepWork(ctx, job); err != nil {
		return err
	}
	job.Of, job.Interval = len(r.workers), interval(len(r.workers)*len(r.runs))
	r.lock(r.adoptClocks)
	if err := r.join(ctx, *job); err != nil {
		return err
	}
	return r.consume(ctx)
}

// subjects are the subjects of the blocks of this load.
func (r *Run) subjects() string { return blockSubjects(r.conf.Fleet.Run, r.claim.entry.Epoch, r.index) }

// job is what all workers of the run get, the names of the options whose secrets are in it, and how the user gives them in another way.
func (r *Run) job() (job Job, names []string, advice string) {
	job = Job{
		Run: r.conf.Fleet.Run, Command: r.todo.Command, Version: r.conf.Version, Protocol: Protocol, Epoch: r.claim.entry.Epoch,
		Load: r.index, Class: r.todo.Class,
	}
	if t := r.todo.Task; t != nil {
		job.Own, job.Secrets = t.Own, t.Secrets
		return job, t.Names, t.Advice
	}
	job.Plan, job.Secrets, names = strip(r.todo.Plan).Withhold()
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

// End lets the workers go and removes what NATS has of the run. Abandon leaves it.
func (r *crew) End(ctx context.Context) {
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
func (r *crew) leave(ctx context.Context) {
	var all sync.WaitGroup
	for _, run := range r.runs {
		all.Go(func() { _, _ = run.broadcast(ctx, request{Kind: kindLeave}) }) // a worker that does not hear it leaves without heartbeats
	}
	all.Wait()
	r.cancel()
	r.work.Wait()
}

// Abandon lets the workers go and leaves what NATS has of the run for another coordinator.
func (r *crew) Abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	r.leave(ctx)
}

// taken tells whether another coordinator has the run.
func (r *crew) taken(ctx context.Context) bool {
	e, err := r.claim.kv.Get(ctx, r.claim.name)
	var entry Entry
	return err == nil && json.Unmarshal(e.Value(), &entry) == nil && entry.Epoch != r.claim.entry.Epoch
}

// Result is what a result says of the fleet.
func (r *crew) Result() *result.Fleet {
	f := &result.Fleet{Run: r.conf.Fleet.Run}
	r.lock(func() {
		for i, m := range r.workers {
			to := result.Member{Name: m.Name, Host: m.Host, Version: m.Version, MaxProcs: m.MaxProcs, Lost: m.lost, LostUnixNs: m.lostAt}
			for _, run := range r.runs {
				to.ClockErrorNs = max(to.ClockErrorNs, run.parts[i].clock.Error)
				to.Records += run.parts[i].records
				f.StartSkewNs = max(f.StartSkewNs, run.skew)
			}
			f.Members = append(f.Members, to)
			f.ClockErrorNs = max(f.ClockErrorNs, to.ClockErrorNs)
		}
	})
	return f
}
