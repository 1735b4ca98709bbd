package planted

// A fault is a change of one source file that makes the program wrong, and the test that must find it.
type fault struct {
	name string
	file string
	// Each text stands in the file exactly once and is replaced.
	edits []edit
	// added stands at the end of the file.
	added string
	// test is the pattern of the test of that package that must fail, and says is in what it then prints.
	pkg, test, says string
}

type edit struct{ old, new string }

const (
	sink   = "internal/engine/sink.go"
	addSub = "internal/refserver/backend/simple.go"
	note   = "s.shard.Add(&c.Rec, s.events, s.data)"
	answer = "j.Send(tensor.Tensor{Name: outs[0].GetName()"
	begin  = "import (\n"
	told   = "if empty {\n"

	programs = "e2e/accuracy"
	models   = "e2e/llm"
)

// right are the tests that must not fail on the right program.
var right = []struct{ pkg, test string }{
	{programs, "^(TestShortestLatency|TestEveryRequestCounts)$"},
	{models, "^TestShortestTimes$"},
}

var faults = []fault{
	{
		name: "latency off by 3 ms", file: sink,
		edits: []edit{{note, "c.Rec.End += 3_000_000\n\t" + note}},
		pkg:   programs, test: "^TestShortestLatency$", says: "the shortest latency is ",
	},
	{
		name: "times of tokens off by 3 ms", file: sink,
		edits: []edit{{told, "at += 3_000_000\n\t" + told}},
		pkg:   models, test: "^TestShortestTimes$/^gRPC$", says: "the shortest time_to_first_token is ",
	},
	{
		name: "one request in 10,000 is lost", file: sink,
		edits: []edit{{begin, begin + "\t\"sync/atomic\"\n\n"}, {note, "if seen.Add(1)%10_000 != 5_000 {\n\t\t" + note + "\n\t}"}},
		added: "\nvar seen atomic.Uint64\n",
		pkg:   programs, test: "^TestEveryRequestCounts$/^grpc$", says: "19998 requests in the records, want 20000",
	},
	{
		name: "two answers in 10,000 are exchanged", file: addSub,
		edits: []edit{{begin, begin + "\t\"sync\"\n"}, {answer, "send(j, tensor.Tensor{Name: outs[0].GetName()"}},
		added: `
var held struct {
	sync.Mutex
	seen    int
	job     *Job
	outputs []tensor.Tensor
}

func send(j *Job, outputs ...tensor.Tensor) {
	held.Lock()
	defer held.Unlock()
	held.seen++
	switch held.seen % 10_000 {
	case 5_000:
		held.job, held.outputs = j, outputs
	case 5_001:
		held.job.Send(outputs...)
		j.Send(held.outputs...)
	default:
		j.Send(outputs...)
	}
}
`,
		pkg: programs, test: "^TestEveryRequestCounts$/^http$", says: "mismatch",
	},
}
