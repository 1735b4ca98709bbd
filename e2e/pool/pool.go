// Package pool runs subtests several at a time.
//
// Most end-to-end tests wait: for measurement windows and for other programs. The number of t.Parallel tests that run at
// once is one per core by default, which leaves the cores idle. A pool has its own number of workers, and it keeps apart
// the tasks that use the same state of a server.
package pool

import (
	"maps"
	"slices"
	"sync"
	"testing"
)

// Task is one subtest.
type Task struct {
	Name string
	// Needs names what the task has for itself while it runs, such as "shared memory".
	Needs []string
	Run   func(t *testing.T)
}

// Run starts the tasks as subtests of t, at most workers at a time, and returns when all have ended. Tasks that need the
// same thing run one after the other, in their order.
func Run(t *testing.T, workers int, tasks []Task) {
	t.Helper()
	q := queue{waiting: tasks, used: map[string]bool{}}
	q.changed.L = &q.mu
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for task := q.take(); task != nil; task = q.take() {
				t.Run(task.Name, task.Run)
				q.giveBack(task)
			}
		})
	}
	running.Wait()
}

// queue holds the tasks that have not started, and what the running ones use.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting []Task
	used    map[string]bool
}

// take returns the first task whose needs are free, after waiting for one where necessary; nil when none is left.
func (q *queue) take() *Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		i := q.next()
		if i < 0 {
			q.changed.Wait()
			continue
		}
		task := q.waiting[i]
		q.waiting = slices.Concat(q.waiting[:i], q.waiting[i+1:])
		for _, need := range task.Needs {
			q.used[need] = true
		}
		return &task
	}
	return nil
}

// next is the index of the first task that may start, or -1. A task that must wait reserves what it needs, so that no
// later task overtakes it.
func (q *queue) next() int {
	taken := maps.Clone(q.used)
	for i, task := range q.waiting {
		if !slices.ContainsFunc(task.Needs, func(need string) bool { return taken[need] }) {
			return i
		}
		for _, need := range task.Needs {
			taken[need] = true
		}
	}
	return -1
}

func (q *queue) giveBack(task *Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, need := range task.Needs {
		delete(q.used, need)
	}
	q.changed.Broadcast()
}
