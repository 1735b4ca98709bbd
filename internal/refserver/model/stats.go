package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Reason says why a request failed.
type Reason string

// The reasons, by the words of Triton's metrics.
const (
	Rejected Reason = "REJECTED"
	Canceled Reason = "CANCELED"
	Backend  Reason = "BACKEND"
	Other    Reason = "OTHER"
)

// Counters counts what one version of a model did, as messages of Triton's statistics extension. Every request counts once in the stages
// it went through; a batch that was executed counts once more, under its size. Times are what really passed between the marks that the
// scheduler took.
type Counters struct {
	mu       sync.Mutex
	now      *pb.ModelStatistics
	failures map[Reason]uint64
	pending  int64
}

// newCounters makes the counters of a version of a model.
func newCounters(model, version string) *Counters {
	none := func() *pb.StatisticDuration { return &pb.StatisticDuration{} }
	return &Counters{failures: map[Reason]uint64{}, now: &pb.ModelStatistics{Name: model, Version: version, InferenceStats: &pb.InferStatistics{
		Success: none(), Fail: none(), Queue: none(), ComputeInput: none(), ComputeInfer: none(), ComputeOutput: none(), CacheHit: none(), CacheMiss: none(),
	}}}
}

func add(d *pb.StatisticDuration, t time.Duration) {
	d.Count++
	d.Ns += uint64(max(t, 0))
}

// Request adds one request that was executed and succeeded: its whole time, its wait, and its stages.
func (c *Counters) Request(batch int, total, queue time.Duration, st infer.Stages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.InferenceCount += uint64(max(batch, 1))
	c.now.LastInference = uint64(time.Now().UnixMilli())
	s := c.now.GetInferenceStats()
	add(s.GetSuccess(), total)
	add(s.GetQueue(), queue)
	add(s.GetComputeInput(), st.Input)
	add(s.GetComputeInfer(), st.Infer)
	add(s.GetComputeOutput(), st.Output)
}

// Execution adds one run of the backend on a batch of the given size.
func (c *Counters) Execution(size int, st infer.Stages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.ExecutionCount++
	of := uint64(max(size, 1))
	i, found := slices.BinarySearchFunc(c.now.GetBatchStats(), of, func(b *pb.InferBatchStatistics, of uint64) int { return cmp.Compare(b.GetBatchSize(), of) })
	if !found {
		c.now.BatchStats = slices.Insert(c.now.BatchStats, i, &pb.InferBatchStatistics{
			BatchSize: of, ComputeInput: &pb.StatisticDuration{}, ComputeInfer: &pb.StatisticDuration{}, ComputeOutput: &pb.StatisticDuration{},
		})
	}
	b := c.now.GetBatchStats()[i]
	add(b.GetComputeInput(), st.Input)
	add(b.GetComputeInfer(), st.Infer)
	add(b.GetComputeOutput(), st.Output)
}

// Failure adds one request that failed.
func (c *Counters) Failure(total time.Duration, why Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(c.now.GetInferenceStats().GetFail(), total)
	c.failures[why]++
	c.now.LastInference = uint64(time.Now().UnixMilli())
}

// Response adds the n-th response of a decoupled request; failed and empty ones count as such.
func (c *Counters) Response(n int, took, output time.Duration, failed, empty bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := strconv.Itoa(n)
	if c.now.GetResponseStats() == nil {
		c.now.ResponseStats = map[string]*pb.InferResponseStatistics{}
	}
	r := c.now.GetResponseStats()[key]
	if r == nil {
		none := func() *pb.StatisticDuration { return &pb.StatisticDuration{} }
		r = &pb.InferResponseStatistics{ComputeInfer: none(), ComputeOutput: none(), Success: none(), Fail: none(), EmptyResponse: none(), Cancel: none()}
		c.now.ResponseStats[key] = r
	}
	switch {
	case failed:
		add(r.GetFail(), took+output)
	case empty:
		add(r.GetEmptyResponse(), took)
	default:
		add(r.GetComputeInfer(), took)
		add(r.GetComputeOutput(), output)
		add(r.GetSuccess(), took+output)
	}
}

// Waiting changes the number of requests in the queue.
func (c *Counters) Waiting(by int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending += by
}

// Snapshot copies all counters, with the failures by reason and the number of requests that wait.
func (c *Counters) Snapshot() (now *pb.ModelStatistics, failures map[Reason]uint64, pending int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return proto.CloneOf(c.now), maps.Clone(c.failures), c.pending
}
