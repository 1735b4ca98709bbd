package profile

import (
	"runtime"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// rest keeps the writing of an export from holding up the load. Go looks for what the network has brought when there is
// nothing else to run, or every 10 ms: on a single processor a long stint of ours is a pause of the whole load. So after a
// short stint we sleep a moment, unless the load takes the whole processor: then the stints must be long to get anywhere.
type rest struct {
	from  int64           // when the stint began; 0: no rest is needed
	never int64           // not before this time
	over  <-chan struct{} // closed when the load has ended; nil if it does not end by itself
}

const (
	stint    = int64(250 * time.Microsecond)
	nap      = 50 * time.Microsecond
	crowded  = int64(2 * time.Millisecond)  // a nap that takes so long says that the processor is taken
	unbroken = int64(10 * time.Millisecond) // the stint after such a nap
)

// begin is called before a number of records is looked at.
func (r *rest) begin(export bool, over <-chan struct{}) {
	r.from, r.over = 0, over
	if export && runtime.GOMAXPROCS(0) == 1 {
		r.from = clock.Now()
	}
}

// take is called between two records.
func (r *rest) take() {
	if r.from == 0 {
		return
	}
	now := clock.Now()
	if now-r.from < stint || now < r.never {
		return
	}
	select {
	case <-r.over:
		return
	default:
	}
	time.Sleep(nap)
	r.from = clock.Now()
	if r.from-now > crowded {
		r.never = r.from + unbroken
	}
}
