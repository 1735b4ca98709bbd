package planted

// A fault makes the program wrong if the environment variable of that name has its name as value. One build has all faults.
type fault struct {
	name string
	// test is the pattern of the test of that package that must fail, and says is in what it then prints.
	pkg, test, says string
}

const (
	variable = "REDLINE_FAULT"

	late, lateTokens, lost, swapped = "latency off by 3 ms", "times of tokens off by 3 ms", "one request in 10,000 is lost", "two answers in 10,000 are exchanged"

	programs = "e2e/accuracy"
	models   = "e2e/llm"
)

// right are the tests that must not fail on the right program.
var right = []struct{ pkg, test string }{
	{programs, "^(TestShortestLatency|TestEveryRequestCounts)$"},
	{models, "^TestShortestTimes$"},
}

var faults = []fault{
	{name: late, pkg: programs, test: "^TestShortestLatency$", says: "the shortest latency is "},
	{name: lateTokens, pkg: models, test: "^TestShortestTimes$/^gRPC$", says: "the shortest time_to_first_token is "},
	{name: lost, pkg: programs, test: "^TestEveryRequestCounts$/^grpc$", says: "19998 requests in the records, want 20000"},
	{name: swapped, pkg: programs, test: "^TestEveryRequestCounts$/^http$", says: "mismatch"},
}

// An edit replaces a text that stands in a source file exactly once.
type edit struct{ file, old, new string }

const (
	sink   = "internal/engine/sink.go"
	addSub = "internal/refserver/backend/simple.go"
	note   = "s.shard.Add(&c.Rec, s.events, s.data)"
	told   = "if empty {\n"
	answer = "		j.Send(outs...)\n"
)

var edits = []edit{
	{sink, note, `if planted == "` + late + `" {
		c.Rec.End += 3_000_000
	}
	if planted != "` + lost + `" || seen.Add(1)%10_000 != 5_000 {
		` + note + `
	}`},
	{sink, told, `if planted == "` + lateTokens + `" {
		at += 3_000_000
	}
	` + told},
	{addSub, answer, "		send(j, outs...)\n"},
}

// added are source files that the edits need.
var added = map[string]string{
	"internal/engine/planted.go": `package engine

import (
	"os"
	"sync/atomic"
)

var (
	planted = os.Getenv("` + variable + `")
	seen    atomic.Uint64
)
`,
	"internal/refserver/backend/planted.go": `package backend

import (
	"os"
	"sync"

	"github.com/redline-bench/redline/internal/tensor"
)

var planted = os.Getenv("` + variable + `")

var held struct {
	sync.Mutex
	seen    int
	outputs []tensor.Tensor
}

func send(j *Job, outputs ...tensor.Tensor) {
	if planted != "` + swapped + `" {
		j.Send(outputs...)
		return
	}
	held.Lock()
	defer held.Unlock()
	held.seen++
	mine := outputs
	if n := held.seen % 10_000; n == 5_000 || n == 5_001 {
		outputs = held.outputs // of the request before
	}
	held.outputs = mine
	j.Send(outputs...)
}
`,
}
