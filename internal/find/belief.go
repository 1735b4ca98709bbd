package find

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// The model of a server, in which all probes are weighed. c is the capacity, x the load of a probe and h its headroom (see estimate). Near
// the limit the headroom falls with the load along a straight line, h(x) = 1 + slope·(1 - x/c), because latency in a queue is in proportion
// to 1/(1-load). Above the capacity the line may be steeper, by a factor of crooks. What a probe of n requests measures differs from the
// line by
//
//   - chance: kappa·scatter/√n, and at least slope·chanceFactor/√n, because the arrivals of n requests make the load differ by 1/√n,
//   - the bend of the real curve: bendFactor of the distance to the limit,
//   - the drift of the server since the probe: slope·drift a minute,
//   - the time in which the queue fills: slope·early, only where the probe looks better than the line.
//
// Capacity, slope, crook and kappa are not known: the belief is the sum over all of them, weighed by how well they explain the probes.
const (
	farHeadroom    = 2.5 // headrooms farther from 1, or nearer to 0 than its inverse, say only on which side of the limit a load is
	decisionError  = (1 - Level) / 2
	chanceFactor   = 2.8
	correlated     = 1000
	ownShare       = 0.02
	farthest       = 8.0  // of a probe, as a logarithm: one that lies is outvoted
	rareShare      = 40.0 // requests: the share of the capacity by which n requests overrate it, because they miss rare long queues, is about
	rareRequests   = 300  // rareShare/(n + rareRequests)
	unknownFactor  = 2.2  // scatter where no probe has an interval, in slopes
	bendFactor     = 0.15
	drift          = 0.005 // relative change of the capacity a minute
	priorSlope     = 3.0   // likeliest, with a deviation of the logarithm
	priorDeviation = 1.0
	lowestSlope    = 0.3
	highestSlope   = 100.0
	slopes         = 14
	kappas         = 5
	kappaSpread    = 0.4 // deviation of the logarithm of kappa
	crooks         = 2   // 1 and 2
	gridPoints     = 100
	gridMargin     = 8.0  // of the loads at the first look
	leastBelief    = 1e-5 // of the loads at the second look
)

// belief has the loads of a grid in ascending order, and how likely the capacity is at least that load.
type belief struct {
	loads, above []float64
	scatter      float64 // see scatter
}

// evidence is what one probe says.
type evidence struct {
	load, due           float64 // load as asked for, and as it was by the arrivals
	sure                Verdict // Holds or Fails; empty where it is not sure
	headroom, deviation float64 // 0 where they are not known
	chance              float64 // 1/√n
	early               float64 // share of the load by which the capacity may be lower, because the backlog had not reached its level
	age                 float64 // minutes before the last probe
}

// belief is how likely each capacity of a tier is; nil before the first evidence.
func (s *Search) belief(tier int) *belief {
	if s.beliefs[tier] == nil {
		s.beliefs[tier] = newBelief(s.evidence(tier), s.conf.Whole)
	}
	return s.beliefs[tier]
}

func (s *Search) evidence(tier int) []evidence {
	var out []evidence
	var last time.Duration
	for _, p := range s.counted() {
		last = p.Last.Now
	}
	for _, p := range s.counted() {
		j := &p.Judgments[tier]
		e := evidence{load: p.Load, due: p.Load, headroom: j.headroom, deviation: j.deviation, age: (last - p.Last.Now).Minutes()}
		if due := p.Last.due(); !s.conf.Whole && due > 0 {
			e.due = float64(due) / p.Last.Elapsed.Seconds()
			e.early = math.Hypot(p.response.Seconds()/p.Last.Elapsed.Seconds(), rareShare/float64(j.requests+rareRequests))
		}
		if j.requests > 0 {
			e.chance = s.chance(j.requests)
		}
		if j.Decided {
			e.sure = j.Verdict
		}
		out = append(out, e)
	}
	return out
}

// chance is how much a measurement of n requests scatters, in the scatter of one request. Most of the scatter in a queue near its limit is
// common to about correlated requests that follow each other, so a shorter probe scatters less than 1/√n; the rest is each request's own.
func (s *Search) chance(n int) float64 {
	if s.conf.Whole {
		return 1 / math.Sqrt(float64(n))
	}
	return math.Sqrt(1/float64(n+correlated) + ownShare/float64(n))
}

// counted are the probes that say something about the server.
func (s *Search) counted() []*Probe {
	var out []*Probe
	for i, p := range s.probes {
		gone := s.state == Failed && i == len(s.probes)-1 && s.mayBeDown() // a server that went down and stayed down says nothing about the load
		if p.End != Running && p.End != Stopped && p.End != ClientFull && !gone {
			out = append(out, p)
		}
	}
	return out
}

func newBelief(list []evidence, whole bool) *belief {
	if len(list) == 0 {
		return &belief{}
	}
	low, high := math.Inf(1), 0.0
	for _, e := range list {
		low, high = min(low, e.load), max(high, e.load)
	}
	b := beliefOn(list, low/gridMargin, high*gridMargin, whole)
	first := sort.Search(len(b.above), func(i int) bool { return b.above[i] < 1-leastBelief })
	last := sort.Search(len(b.above), func(i int) bool { return b.above[i] < leastBelief })
	return beliefOn(list, b.loads[max(0, first-2)], b.loads[min(len(b.loads)-1, last+1)], whole)
}

// beliefOn computes the belief on a grid of loads.
func beliefOn(list []evidence, low, high float64, whole bool) *belief {
	b := &belief{loads: make([]float64, gridPoints+1), above: make([]float64, gridPoints+1), scatter: scatter(list)}
	step := math.Log(high/low) / gridPoints
	for i := range b.loads {
		b.loads[i] = low * math.Exp(float64(i)*step)
	}
	h := hypothesis{scatter: b.scatter, whole: whole}
	for k := range h.kappa {
		h.kappa[k] = math.Exp((float64(k) - (kappas-1)/2) * kappaSpread)
	}
	logs := make([][]float64, gridPoints) // of the likelihoods at each capacity
	most := math.Inf(-1)
	for i := range logs {
		h.capacity = math.Sqrt(b.loads[i] * b.loads[i+1])
		logs[i] = h.logs(list)
		most = max(most, slices.Max(logs[i]))
	}
	sum := 0.0
	for i := gridPoints - 1; i >= 0; i-- {
		for _, log := range logs[i] {
			sum += math.Exp(log - most)
		}
		b.above[i] = sum
	}
	for i := range b.above {
		b.above[i] /= sum
	}
	return b
}

// hypothesis is a server that may be the one that was probed.
type hypothesis struct {
	capacity, slope, crook float64
	scatter                float64
	kappa                  [kappas]float64
	whole                  bool
}

// logs are the logarithms of the likelihoods of a capacity, with every slope, crook and kappa.
func (h *hypothesis) logs(list []evidence) []float64 {
	out := make([]float64, 0, slopes*crooks*kappas)
	for k := range slopes {
		h.slope = lowestSlope * math.Pow(highestSlope/lowestSlope, float64(k)/(slopes-1))
		prior := math.Log(h.slope/priorSlope) / priorDeviation
		for h.crook = 1; h.crook <= crooks; h.crook++ {
			var sums [kappas]float64
			for i := range list {
				list[i].add(&sums, h)
			}
			for k := range sums {
				u := float64(k) - (kappas-1)/2
				out = append(out, sums[k]-u*u/2-prior*prior/2)
			}
		}
	}
	return out
}

// scatter is the standard error of the headroom of a probe with one request, by the probes whose metric has an interval; 0 where none
// has. Probes share it, because by chance low latencies have narrow intervals. In a queue it does not depend on the load.
func scatter(list []evidence) float64 {
	type one struct{ scatter, weight float64 }
	var all []one
	weights := 0.0
	for _, e := range list {
		if e.deviation > 0 && e.headroom < farHeadroom && e.headroom > 1/farHeadroom {
			w := math.Pow(1/e.chance, 4)
			weights += w
			all = append(all, one{e.deviation / e.chance, w})
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.scatter, b.scatter) })
	sum := 0.0
	for _, a := range all {
		if sum += a.weight; sum >= weights/2 {
			return a.scatter
		}
	}
	return 0
}

// add adds the logarithm of the likelihood of the evidence to the sums, one for each kappa.
func (e *evidence) add(sums *[kappas]float64, h *hypothesis) {
	near := e.headroom > 1/farHeadroom && e.headroom < farHeadroom
	if !near && (e.sure == Holds && h.capacity < e.load || e.sure == Fails && h.capacity > e.load) {
		for k := range sums {
			sums[k] += math.Log(decisionError)
		}
	}
	if e.headroom == 0 {
		return
	}
	y := 1 - e.due/h.capacity
	if y < 0 {
		y *= h.crook
	}
	straight := 1 + h.slope*y
	line, seen := clip(straight), clip(e.headroom)
	scatter, least := e.chances(h, seen)
	early := 0.0
	if line < seen {
		early = h.slope * e.early
	}
	bend, old := bendFactor*(line-1), h.slope*drift*e.age
	// The deviation of a latency is in proportion to it, so high headrooms deviate more: the distance is the integral of h·(1 - h/seen).
	integral := func(h float64) float64 { return h*h/2 - h*h*h/3/seen }
	distance := max(0, integral(seen)-integral(line))
	if line != straight && line != seen { // a line that is far off is not explained by the chance of a steep one
		distance += (straight - line) * (straight - line) / 2
	}
	for k := range sums {
		deviation := max(h.kappa[k]*scatter, least) * e.chance
		norm := deviation*deviation + bend*bend + old*old
		v := norm + early*early
		sums[k] -= min(distance/v, farthest) + math.Log(norm)/4 + math.Log(v)/4
	}
}

// chances are the scatter of the evidence, and the least that kappa can make of it.
func (e *evidence) chances(h *hypothesis, seen float64) (scatter, least float64) {
	scatter, least = h.scatter, chanceFactor*h.slope
	switch {
	case h.whole: // no arrivals by chance
		least = 0
		if scatter == 0 {
			scatter = unknownFactor * min(e.headroom, farHeadroom)
		}
	case scatter == 0:
		scatter = unknownFactor * h.slope
	}
	if seen != e.headroom && e.deviation > 0 { // far from the limit the own interval tells more
		share := seen / e.headroom
		return e.deviation / e.chance * share * share, 0
	}
	return scatter, least
}

func clip(headroom float64) float64 { return min(max(headroom, 1/farHeadroom), farHeadroom) }

// holds is how likely the capacity is at least a load.
func (b *belief) holds(load float64) float64 {
	i := sort.SearchFloat64s(b.loads, load)
	switch {
	case i == 0:
		return 1
	case i == len(b.loads):
		return 0
	}
	share := math.Log(load/b.loads[i-1]) / math.Log(b.loads[i]/b.loads[i-1])
	return b.above[i-1] + share*(b.above[i]-b.above[i-1])
}

// likely is the load that the capacity reaches with a probability.
func (b *belief) likely(probability float64) float64 {
	i := sort.Search(len(b.above), func(i int) bool { return b.above[i] < probability })
	switch {
	case i == 0:
		return b.loads[0]
	case i == len(b.above):
		return b.loads[i-1]
	}
	share := (b.above[i-1] - probability) / (b.above[i-1] - b.above[i])
	return b.loads[i-1] * math.Pow(b.loads[i]/b.loads[i-1], share)
}
