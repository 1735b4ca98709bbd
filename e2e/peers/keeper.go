package peers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// Keeper holds a Triton that is started again after a crash. This release crashes sometimes with many streams; a
// server that has gone tells nothing of the client.
type Keeper struct {
	start func() (*Triton, error)
	mu    sync.Mutex
	now   *Triton
}

// Keep starts a server for the time of the test.
func Keep(t *testing.T, start func() (*Triton, error)) *Keeper {
	t.Helper()
	first, err := start()
	if err != nil {
		t.Fatal(err)
	}
	k := &Keeper{start: start, now: first}
	t.Cleanup(func() { k.Triton().Stop() })
	return k
}

// Triton is the server that runs now.
func (k *Keeper) Triton() *Triton {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// Crashed reports whether a server that was used has crashed or hangs, logs that, and starts another one. Ask it about a
// run that went wrong: it watches the server for a while.
func (k *Keeper) Crashed(t *testing.T, used *Triton) bool {
	t.Helper()
	cause := used.settle(t.Context())
	if cause == nil {
		return false
	}
	k.Replace(t, used, cause.Error())
	return true
}

// Replace stops the server that was used, starts another one, and logs why.
func (k *Keeper) Replace(t *testing.T, used *Triton, why string) {
	t.Helper()
	t.Logf("PEER CRASHED: %s", why)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now != used {
		return // another test has started the next one
	}
	used.Stop()
	next, err := k.start()
	if err != nil {
		outcome.Inconclusive(t, fmt.Sprintf("Triton crashed and does not start again: %v", err))
	}
	k.now = next
}

// calm is how long a server must continue answering to count as alive: one that is about to crash has failed requests before
// it ends, and may write a core file.
const calm = 2 * time.Second

// settle waits until the server has either answered for a while or ended. It returns what is wrong with it.
func (t *Triton) settle(ctx context.Context) error {
	begin := time.Now()
	for answered := time.Duration(0); answered < calm && t.Err() == nil; {
		at := time.Now()
		if at.Sub(begin) > time.Minute {
			return errors.New("tritonserver runs, but does not answer")
		}
		time.Sleep(200 * time.Millisecond)
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		status := Status(once, "http://"+t.HTTP+"/v2/health/live")
		cancel()
		if status == http.StatusOK {
			answered += time.Since(at)
		}
	}
	return t.Err()
}

var stubDied = regexp.MustCompile(`Stub process '\S+' is not healthy`)

// StubDied reports whether a run's output says that Triton lost a process of its Python backend: Triton gives one up that
// had no core for a while.
func StubDied(output string) bool { return stubDied.MatchString(output) }
