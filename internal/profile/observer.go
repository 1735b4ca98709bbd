package profile

import (
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Observer is told what happens, in order, on the goroutine of Run. Reports and progress lines implement it.
type Observer interface {
	// LevelBegins is called when the load of a level, or of its warm-up, is about to be set.
	LevelBegins(lv *result.Level, warmup bool)
	// Pass is called after each window; n counts from 1.
	Pass(n int, w *result.Window)
	// LevelEnds is called with the finished level, accepted or not. It may add to the level, which is then put into the result.
	LevelEnds(lv *result.Level)
	// Progress is called several times a second while a window runs.
	Progress(p Progress)
	// RanksStable is called when all ranks of a run that is measured together are stable.
	RanksStable()
	// Warn reports something that the user should know and that does not end the run.
	Warn(w Warning)
}

// Progress is a look at the window in progress.
type Progress struct {
	Level *result.Level
	// Number of the level, from 1; Levels is how many there are at most, 0 if that is not known.
	Number, Levels int
	// Left is about how long the run still takes; 0 if that is not known.
	Left     time.Duration
	Pass     int
	Passes   int // the most there can be
	Elapsed  time.Duration
	Window   time.Duration // 0 when the window ends by count
	Requests uint64
	Wanted   uint64 // requests that end the window; 0 when it ends by time
	Failed   uint64
	Rate     float64
	Median   time.Duration
	InFlight int
	// Live makes the level as it stands, for pages that draw it; nil where no timeline is kept. It may be called only
	// before Progress returns.
	Live func() *result.Level
	// Workers makes what each worker of a fleet has done in the level; nil without a fleet. It may be called only before Progress returns.
	Workers func() []result.Worker
}

// Warning is one remark. Text is for people; Kind lets a dialect choose its own words.
type Warning struct {
	Kind           WarningKind
	Text           string
	Model          string
	Took, Interval time.Duration
}

// WarningKind tells warnings apart.
type WarningKind int

// The warnings.
const (
	WarmupExceeded   WarningKind = iota // more concurrency than warm-up requests
	SeveralVersions                     // several versions of a model did work
	StatisticsFailed                    // the server's counters could not be read
	MetricMissing                       // the metrics endpoint lacks the metric named Text
	MetricsSlow                         // a poll of the metrics took longer than the interval
	MetricsFailed                       // polls of the metrics failed
)

// Tap is shown every record of a level as it ends, measured or not, with the number of the window in progress.
type Tap func(lv *result.Level, window int, r *record.Record) error

// Exporter receives every request that was measured.
type Exporter interface {
	Begin(mode plan.Mode, concurrency int, rate float64) error
	Request(r *record.Record, events []record.Event, data []byte) error
	End(boundaries []int64) error
}
