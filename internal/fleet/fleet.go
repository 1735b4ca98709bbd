// Package fleet runs one plan on several machines. A coordinator keeps the whole measurement: levels, windows, stability, rules
// and reports. Workers only make the load: each has an engine and an exact share of the plan, starts each level at a common time,
// and sends its records back as compressed blocks. NATS carries everything:
//
//   - Requests and broadcasts of the coordinator to the workers are core messages. They are repeated until each worker has
//     answered, and a worker does each only once.
//   - Blocks of records go to a JetStream stream of the run. A block counts when NATS has acknowledged it; until then the worker
//     keeps it and sends it again. The coordinator reads the stream in order, and purges it after each level.
//   - The plan, the levels that are over and the input files are objects of the run. With them another coordinator can take the
//     run up.
//   - One key names the coordinator of a run, so that two cannot have the same one.
//
// Times in messages are readings of the sender's clock. The coordinator measures how far each worker's clock is from its own.
package fleet

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/run"
)

// Protocol is the version of the messages. A worker and a coordinator must have the same one.
const Protocol = 5

// The times that the fleet promises.
const (
	// workerTimeout is how long a worker may send nothing before it counts as lost. With watchEvery it is below 5 s.
	workerTimeout = 4700 * time.Millisecond
	// recordsTimeout is how long no records may come of a worker that answers: a NATS cluster that lost a server needs up to 10 s to choose
	// another one for the records, and the coordinator a few more to find it.
	recordsTimeout = 30 * time.Second
	// CoordinatorTimeout is how long a worker loads the server without a heartbeat of its coordinator.
	CoordinatorTimeout = 10 * time.Second
	// heartbeatEvery is the time between two heartbeats of the coordinator.
	heartbeatEvery = time.Second
	// unacknowledged is how old a block without acknowledgment may become before the worker connects again: after an outage
	// the system waits ever longer before it sends again on an old connection.
	unacknowledged = 1500 * time.Millisecond
	// leastInterval is the time between two blocks of a worker in a small fleet; see interval.
	leastInterval = 100 * time.Millisecond
	// resendAfter is the time after which a block that NATS did not take is sent again.
	resendAfter = 100 * time.Millisecond
	// watchEvery is the time between two looks for lost workers.
	watchEvery = 100 * time.Millisecond
	// lastQuestion is how long a worker that sends no records may take to say why. The question is repeated several times in it: a worker whose
	// blocks are not acknowledged makes a new connection, and hears nothing meanwhile.
	lastQuestion = 1700 * time.Millisecond
	// repeatEvery is the time after which a broadcast is repeated for workers that have not answered.
	repeatEvery = 500 * time.Millisecond
	// prepareTime limits how long a worker may take to fetch the input, ask the server for the model and prepare requests.
	prepareTime = 2 * time.Minute
	// offClock is the difference between two wall clocks from which the user is told.
	offClock = 30 * time.Second
)

// interval is the time between two blocks of each of n workers. Blocks of the whole fleet come at most ten thousand times a second.
func interval(n int) time.Duration {
	return max(leastInterval, time.Duration(n)*100*time.Microsecond)
}

// The subjects. A run's name is a part of them, so that several runs do not meet.
const (
	helloSubject = "redline.hello"
	runsBucket   = "redline_runs"
)

func workerSubject(id string) string { return "redline.worker." + id }
func runSubject(run string) string   { return "redline.run." + run }

// blockSubjects are the subjects of the blocks of all workers: of one load of a run.
func blockSubjects(run string, epoch, load int) string {
	return fmt.Sprintf("redline.records.%s.%d.%d.*", run, epoch, load)
}

func blockSubject(run string, epoch, load, index int) string {
	return strings.TrimSuffix(blockSubjects(run, epoch, load), "*") + strconv.Itoa(index)
}

func streamName(run string) string { return "redline_records_" + run }
func storeName(run string) string  { return "redline_files_" + run }

// CheckRunName tells whether a name can be that of a run.
func CheckRunName(name string) error {
	const most = 64
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if name == "" || len(name) > most || strings.Trim(name, letters) != "" {
		return fmt.Errorf("--run-name %q: use up to 64 letters, digits, - and _", name)
	}
	return nil
}

// Hello is what a worker says of itself.
type Hello struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Host     string `json:"host"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	MaxProcs int    `json:"max_procs"`
	TLS      bool   `json:"tls,omitempty"` // its connection to NATS uses TLS
	Run      string `json:"run,omitempty"` // that it works for; empty if it is free
}

// Job is what a worker needs to make its share of a run's load.
type Job struct {
	Run     string `json:"run"`
	Command string `json:"command"`
	// Version is that of the coordinator's program, Protocol that of its messages.
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Epoch    int    `json:"epoch"` // counts the coordinators of the run
	// Load is the number of this load of the run: a scenario has one for each class, others have one. Class is its name.
	Load  int    `json:"load,omitempty"`
	Class string `json:"class,omitempty"`
	Index int    `json:"index"`
	Of    int    `json:"of"`
	// Plan is without secrets, except for references to the worker's environment and files. Secrets are values for Plan.Restore;
	// they are sent over TLS alone. Own and Secrets of a Task are in the place of both for a command with a plan of its own.
	Plan    *plan.Plan      `json:"plan,omitempty"`
	Own     json.RawMessage `json:"own,omitempty"`
	Secrets []string        `json:"secrets,omitempty"`
	Files   []File          `json:"files,omitempty"`
	// Interval is the time between two blocks of records.
	Interval time.Duration `json:"interval"`

	files *files // on this machine
}

// Path is where a file or folder of the run is on this machine: Files has it, or it was there before.
func (j *Job) Path(original string) string {
	if j.files != nil && j.files.folder != "" {
		if here := j.files.path(original); exists(here) {
			return here
		}
	}
	return original
}

// title names the load of the job in lines for the user.
func (j *Job) title() string {
	if j.Class == "" {
		return "run " + j.Run
	}
	return fmt.Sprintf("run %s, class %s", j.Run, j.Class)
}

// Task is the work of a command that has a plan of its own.
type Task struct {
	Own     json.RawMessage // the plan without secrets
	Secrets []string        // complete options in the place of the secrets of the plan
	Names   []string        // of the options with secrets
	// Kept are the options of the run without secrets, for a coordinator that takes it up; nil for a run that cannot be taken up.
	Kept  []string
	Files []string // the files and folders that every worker gets
	// Advice is how the user gives a secret that need not be sent.
	Advice string
}

// File is an input file of the plan, in the run's object store.
type File struct {
	Path string `json:"path"` // as the plan has it
	Hash string `json:"sha256"`
	Size int64  `json:"size"`
}

// The kinds of requests to one worker and of broadcasts to all workers of a run.
const (
	kindClock     = "clock"
	kindJoin      = "join"
	kindOrder     = "order"   // make the slots of a load
	kindGo        = "go"      // begin the load at a time
	kindStop      = "stop"    // send nothing more
	kindCut       = "cut"     // cancel requests in flight
	kindFlights   = "flights" // list requests in flight
	kindHeartbeat = "heartbeat"
	kindLeave     = "leave"
)

// request is a message of the coordinator.
type request struct {
	Kind string `json:"kind"`
	Job  *Job   `json:"job,omitempty"`
	// Epoch, Load and Number name a broadcast: a worker does each once.
	Epoch  int    `json:"epoch,omitempty"`
	Load   int    `json:"load,omitempty"`
	Number uint64 `json:"number,omitempty"`
	// Gen numbers what a load of the run does one after another: levels and their warm-ups.
	Gen uint64 `json:"gen,omitempty"`
	run.Order
	// At are the times of kindGo by the clock of each worker.
	At []int64 `json:"at,omitempty"`
}

// reply is a worker's answer.
type reply struct {
	Index   int    `json:"index"`
	Error   string `json:"error,omitempty"`
	Now     int64  `json:"now,omitempty"`
	Wall    int64  `json:"wall,omitempty"`
	Run     string `json:"run,omitempty"`     // that the worker works for, in answers to kindClock
	Flights []byte `json:"flights,omitempty"` // see packFlights
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a message of the fleet cannot be encoded: " + err.Error())
	}
	return b
}
