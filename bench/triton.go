package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/proto/kserve"
)

var throughput = regexp.MustCompile(`Throughput: ([\d.]+) infer/sec`)

// tritonRows let a real Triton respond as fast as it can on two cores that it shares with the client: CPU time of the client is lost
// to the server. The reference is a loop that handles only HTTP/2 frames.
func tritonRows(ctx context.Context, e *env) error {
	if e.peers == nil {
		return errors.New("there is no Triton to measure")
	}
	triton, err := startOnTwoCores(ctx, e)
	if err != nil {
		return err
	}
	defer triton.Stop()
	request := e.file("simple.grpc")
	if err := writeSimple(request); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, inFlight := range []int{8, 64} {
		n := strconv.Itoa(e.requests(18_000)) // fewer say more about Triton's warm-up than about the client
		flags := []string{"-m", "simple", "-i", "grpc", "-u", triton.GRPC, "--async", "--concurrency-range", strconv.Itoa(inFlight), "--request-count", n}
		b := atLeast(0.95, "× the bare loop")
		ours, loop, err := turns(b, func() (ours, loop float64, err error) {
			if ours, err = rateOf(ctx, append([]string{e.bin, "profile"}, flags...)); err == nil {
				loop, err = rateOf(ctx, []string{self, "bare", triton.GRPC, strconv.Itoa(inFlight), n, request})
			}
			return ours, loop, err
		})
		if err != nil {
			return err
		}
		const work = "gRPC to a real Triton, model simple"
		line := row{Work: work, InFlight: inFlight, Tool: "redline", Unit: "infer/s"}
		line.compare(b, ours, loop)
		e.report.add(line, row{Work: work, InFlight: inFlight, Tool: "bare loop", Figure: median(loop), Unit: "infer/s"})
		if rate, err := rateOf(ctx, append([]string{e.peers.PerfAnalyzer()}, flags...)); err != nil {
			e.report.note("perf_analyzer, Triton, %d in flight: %v", inFlight, err)
		} else {
			e.report.add(row{Work: work, InFlight: inFlight, Tool: "perf_analyzer", Figure: rate, Unit: "infer/s"})
		}
		e.progress("%d in flight", inFlight)
	}
	return nil
}

type named struct {
	name string
	argv []string
}

func rateOf(ctx context.Context, argv []string) (float64, error) {
	u, err := measure(ctx, pinned(bothCores, argv...)...)
	if err != nil {
		return 0, err
	}
	m := throughput.FindStringSubmatch(u.output)
	if m == nil {
		return 0, fmt.Errorf("no throughput in its output: %s", lastLine(u.output))
	}
	return strconv.ParseFloat(m[1], 64)
}

// startOnTwoCores starts Triton so that it inherits the two cores.
func startOnTwoCores(ctx context.Context, e *env) (*peers.Triton, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore := bindTwoCores()
	defer restore()
	return e.peers.StartTriton(ctx, e.file("triton"))
}

// writeSimple writes one request for the model simple, framed for gRPC.
func writeSimple(path string) error {
	in := func(name string) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1, 16}}
	}
	message, err := proto.Marshal(&kserve.ModelInferRequest{
		ModelName: "simple",
		Inputs:    []*kserve.ModelInferRequest_InferInputTensor{in("INPUT0"), in("INPUT1")},
		Outputs: []*kserve.ModelInferRequest_InferRequestedOutputTensor{
			{Name: "OUTPUT0"}, {Name: "OUTPUT1"},
		},
		RawInputContents: [][]byte{make([]byte, 64), make([]byte, 64)},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, frame(message), 0o644)
}
