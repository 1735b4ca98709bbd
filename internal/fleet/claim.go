package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
)

// Entry is what the list of runs has of a run.
type Entry struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Command string    `json:"command"`
	Epoch   int       `json:"epoch"`
	Started time.Time `json:"started"`
	Beat    int64     `json:"beat"` // counts heartbeats
}

// claim is a coordinator's hold on the name of a run. While it is held, no other coordinator can have the name.
type claim struct {
	kv       jetstream.KeyValue
	name     string
	entry    Entry
	revision uint64
}

// aliveEvery is the time between two heartbeats in the list of runs.
const aliveEvery = time.Second

// runs opens the list of runs.
func (b *Bus) runs(ctx context.Context) (jetstream.KeyValue, error) {
	var kv jetstream.KeyValue
	_, err := b.create("open the list of runs", func(replicas int) (err error) {
		kv, err = b.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: runsBucket, Description: "runs of redline fleets", Replicas: replicas})
		return err
	})
	return kv, err
}

// take claims a name that no run has.
func (b *Bus) take(ctx context.Context, name string, e Entry) (*claim, error) {
	kv, err := b.runs(ctx)
	if err != nil {
		return nil, err
	}
	e.Epoch, e.Started = 1, time.Now()
	rev, err := kv.Create(ctx, name, encode(e))
	if errors.Is(err, jetstream.ErrKeyExists) {
		old, alive, err := look(ctx, kv, name)
		switch {
		case err != nil:
			return nil, b.explainJetStream("read the list of runs", err)
		case alive:
			return nil, fmt.Errorf("run %s is in progress: a coordinator on %s (process %d) has the name; choose another --run-name", name, old.Host, old.PID)
		}
		return nil, fmt.Errorf("run %s was left by a coordinator on %s that ended early: take it up with 'redline attach %s', or choose another --run-name", name, old.Host, name)
	}
	if err != nil {
		return nil, b.explainJetStream("claim the name of the run", err)
	}
	return &claim{kv: kv, name: name, entry: e, revision: rev}, nil
}

// takeUp claims a run whose coordinator is gone.
func (b *Bus) takeUp(ctx context.Context, name string, e Entry) (*claim, error) {
	kv, err := b.runs(ctx)
	if err != nil {
		return nil, err
	}
	old, alive, err := look(ctx, kv, name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, fmt.Errorf("there is no run %s at %s: it is over, or it has another name", name, b.at)
	case err != nil:
		return nil, b.explainJetStream("read the list of runs", err)
	case alive:
		return nil, fmt.Errorf("run %s is in progress: its coordinator on %s (process %d) is at work", name, old.Host, old.PID)
	}
	at, err := kv.Get(ctx, name)
	if err != nil {
		return nil, b.explainJetStream("read the list of runs", err)
	}
	e.Command, e.Epoch, e.Started = old.Command, old.Epoch+1, old.Started
	rev, err := kv.Update(ctx, name, encode(e), at.Revision())
	if err != nil {
		return nil, fmt.Errorf("run %s is being taken up by another coordinator", name)
	}
	return &claim{kv: kv, name: name, entry: e, revision: rev}, nil
}

// look reads an entry and waits for a heartbeat.
func look(ctx context.Context, kv jetstream.KeyValue, name string) (e Entry, alive bool, err error) {
	first, err := kv.Get(ctx, name)
	if err != nil {
		return e, false, err
	}
	if err := json.Unmarshal(first.Value(), &e); err != nil {
		return e, false, err
	}
	for range 5 {
		if !clock.Sleep(ctx, aliveEvery/2) {
			return e, false, ctx.Err()
		}
		now, err := kv.Get(ctx, name)
		if err != nil {
			return e, false, err
		}
		if now.Revision() != first.Revision() {
			return e, true, nil
		}
	}
	return e, false, nil
}

// hold writes heartbeats until ctx ends. lost is called when another coordinator has the name.
func (c *claim) hold(ctx context.Context, lost func(error)) {
	for clock.Sleep(ctx, aliveEvery) {
		c.entry.Beat++
		rev, err := c.kv.Update(ctx, c.name, encode(c.entry), c.revision)
		if err == nil {
			c.revision = rev
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		now, gerr := c.kv.Get(ctx, c.name)
		var e Entry
		switch {
		case gerr != nil || json.Unmarshal(now.Value(), &e) != nil:
		case e.Epoch != c.entry.Epoch:
			lost(fmt.Errorf("another coordinator, on %s, has taken run %s up", e.Host, c.name))
			return
		default: // our own update whose answer was lost
			c.revision = now.Revision()
		}
	}
}

// release gives the name back.
func (c *claim) release(ctx context.Context) { _ = c.kv.Purge(ctx, c.name) } // an entry that stays says that its run can be taken up
