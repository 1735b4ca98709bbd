package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/run"
)

// saved is what another coordinator needs to take the run up.
type saved struct {
	Line    string     `json:"command_line"`
	Version string     `json:"version"`
	Plan    *plan.Plan `json:"plan,omitempty"`
	Options []string   `json:"options,omitempty"` // of a run without a plan
}

const planObject = "plan.json"

func levelObject(n int) string { return fmt.Sprintf("level.%06d.json", n) }

// open makes the stream and the store of the run.
func (r *crew) open(ctx context.Context) (err error) {
	name := r.conf.Fleet.Run
	kept, err := r.bus.create("make the stream of the records", func(replicas int) (err error) {
		r.stream, err = r.bus.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: streamName(name), Subjects: []string{"redline.records." + name + ".>"}, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
			Description: "records of redline's run " + name, Replicas: replicas,
		})
		return err
	})
	if err != nil {
		return err
	}
	if cluster := r.bus.nc.ConnectedClusterName(); cluster != "" && kept < copies {
		r.conf.Warn("the NATS cluster %s keeps no %d copies of the records: the run ends if the server that has them is lost; give the account JetStream on %d servers", cluster, copies, copies)
	}
	// A level that was in progress when the last coordinator ended is measured again.
	if err := r.stream.Purge(ctx); err != nil {
		return r.bus.explainJetStream("remove the records of the level in progress", err)
	}
	if r.store != nil {
		return nil
	}
	_ = r.bus.js.DeleteObjectStore(ctx, storeName(name)) // of an earlier run with this name that could not remove it
	_, err = r.bus.create("make the store of the run", func(replicas int) (err error) {
		r.store, err = r.bus.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: storeName(name), Description: "plan, levels and input data of redline's run " + name, Replicas: replicas,
		})
		return err
	})
	return err
}

// keepWork keeps what another coordinator needs in the store, and the input files of a job.
func (r *Run) keepWork(ctx context.Context, job *Job) (err error) {
	kept := saved{Line: r.conf.Line, Version: r.conf.Version}
	var files []string
	if t := r.todo.Task; t != nil {
		kept.Options, files = t.Kept, t.Files
	} else {
		p, _, _ := r.todo.Plan.Withhold()
		kept.Plan, files = p.With(func(p *plan.Plan) { p.Fleet.NATS = plan.NATS{} }), inputs(job.Plan)
	}
	if r.todo.Class == "" { // a class of a scenario cannot be taken up
		err = r.keep(ctx, planObject, kept)
	}
	if err == nil {
		job.Files, err = upload(ctx, r.store, files)
	}
	return err
}

// readKept reads what another coordinator has left.
func (r *Run) readKept(ctx context.Context) error {
	var s saved
	var err error
	if r.store, err = r.bus.js.ObjectStore(ctx, storeName(r.conf.Fleet.Run)); err == nil {
		err = r.read(ctx, planObject, &s)
	}
	if err != nil {
		return fmt.Errorf("run %s ended before its plan was kept: remove it with 'redline attach %s --drop' and start it again", r.conf.Fleet.Run, r.conf.Fleet.Run)
	}
	r.conf.Line, r.todo.Plan, r.kept = s.Line, s.Plan, s.Options
	if s.Version != r.conf.Version {
		return fmt.Errorf("run %s was begun by redline %s, this is redline %s: take it up with the same version", r.conf.Fleet.Run, s.Version, r.conf.Version)
	}
	for {
		var d run.Done
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
