//go:build linux

package fleet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/e2e/netns"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// distantLab is a lab whose nats-server, server, coordinator and workers are on hosts of their own, with slow links between them that lose packets.
type distantLab struct {
	lab
	coordinator *netns.Host
	hosts       []*netns.Host // of the workers
	http, grpc  string        // addresses of the server

	mu   sync.Mutex
	sent map[*netns.Host]map[requestPlace]time.Time // when each inference request first left its host, by the clock of this process
}

// requestPlace is where a request stands in the streams of its host: a segment that is sent again is at the same place.
type requestPlace struct {
	port     uint16
	sequence uint32
}

// The ports of the hosts.
const natsPort, httpPort, grpcPort = 4222, 8000, 8001

// openDistant starts a lab with a worker behind each link.
func openDistant(t *testing.T, near netns.Link, workers ...netns.Link) *distantLab {
	t.Helper()
	l := &distantLab{sent: map[*netns.Host]map[requestPlace]time.Time{}}
	n := netns.NewNetwork()
	n.Seen = l.note
	t.Cleanup(n.Close)
	add := func(link netns.Link) *netns.Host {
		h, err := n.Add(link)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			t.Skip("this kernel has no TUN devices: ", err)
		}
		if err != nil {
			outcome.NotTested(t, "fleets over a network with delay and loss", err, "a user who may make network namespaces and TUN devices")
		}
		return h
	}
	broker, server := add(near), add(near)
	l.coordinator = add(near)
	for _, link := range workers {
		l.hosts = append(l.hosts, add(link))
	}
	at := func(h *netns.Host, port uint16) string { return netip.AddrPortFrom(h.Address, port).String() }
	l.address, l.http, l.grpc = "nats://u:p@"+at(broker, natsPort), at(server, httpPort), at(server, grpcPort)
	l.nats = startBy(t, broker.Start, natsServer, filepath.Join(self, natsServer), "-a", broker.Address.String(), "-p", strconv.Itoa(natsPort), "-js", "-sd", t.TempDir(), "--user", "u", "--pass", "p")
	l.nats.await(t, "Server is ready")
	redline := filepath.Join(bin, "redline")
	l.log = filepath.Join(t.TempDir(), "requests.jsonl")
	startBy(t, server.Start, "server", redline, "serve", "--http-address", server.Address.String(), "--http-port", strconv.Itoa(httpPort),
		"--grpc-address", server.Address.String(), "--grpc-port", strconv.Itoa(grpcPort), "--request-log", l.log).await(t, "ready")
	for i, h := range l.hosts {
		name := fmt.Sprintf("w%d", i+1)
		w := startBy(t, h.Start, name, redline, "worker", "--nats", l.address, "--name", name)
		w.await(t, "waits for runs")
		l.workers = append(l.workers, w)
	}
	return l
}

// note keeps when inference requests leave their hosts.
func (l *distantLab) note(at time.Time, from *netns.Host, packet netns.Packet) {
	segment, ok := packet.TCP()
	if !ok || segment.To != httpPort || !bytes.HasPrefix(segment.Data, []byte("POST ")) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sent[from] == nil {
		l.sent[from] = map[requestPlace]time.Time{}
	}
	place := requestPlace{segment.From, segment.Sequence}
	if _, again := l.sent[from][place]; !again {
		l.sent[from][place] = at
	}
}

// sends are the times at which the inference requests of a worker left its host, in Unix nanoseconds and in order.
func (l *distantLab) sends(worker int) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []int64
	for at := range maps.Values(l.sent[l.hosts[worker]]) {
		out = append(out, at.UnixNano())
	}
	slices.Sort(out)
	return out
}

// profile starts a run on all workers.
func (l *distantLab) profile(t *testing.T, args ...string) *process {
	t.Helper()
	all := append([]string{
		"profile", "-m", "simple", "--workers", strconv.Itoa(len(l.workers)), "--nats", l.address, "--no-history", "-v",
	}, args...)
	return startBy(t, l.coordinator.Start, "coordinator", filepath.Join(bin, "redline"), all...)
}

// Three workers at different distances, whose packets take different times in the two directions and get lost, deliver the rate of the plan. The
// result is that of all raw records, and what it states about clocks and about the start is true: the network itself has the log.
func TestTimedWorkersFarApart(t *testing.T) {
	t.Parallel()
	disturbance.Try(t, func() error { return farApart(t) })
}

func farApart(t *testing.T) error {
	t.Helper()
	const rate, requests, loss = 300, 2400, 0.005
	l := openDistant(t, netns.Link{Out: time.Millisecond, In: time.Millisecond, Loss: loss},
		netns.Link{Out: 2 * time.Millisecond, In: 2 * time.Millisecond, Loss: loss},
		netns.Link{Out: 2 * time.Millisecond, In: 18 * time.Millisecond, Loss: loss},
		netns.Link{Out: 30 * time.Millisecond, In: 10 * time.Millisecond, Loss: loss})
	file, raw := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "raw.csv")
	p := l.profile(t, "-u", l.http, "--async", "--request-rate-range", strconv.Itoa(rate), "--request-count", strconv.Itoa(requests), "--records", raw, "--json", file)
	code := p.wait(t)
	if _, err := os.Stat(file); err != nil {
		// On a starved machine a worker does not answer in time, and the run does not begin.
		return fmt.Errorf("exit code %d and no result:\n%s", code, p.stderr.String())
	}
	res := readResult(t, file)
	lv := &res.Levels[0]
	log := l.logged(t)
	if lv.Client.Requests != requests || len(log) != requests {
		// A starved machine loses a worker, which is in the report.
		return fmt.Errorf("%d requests in the result, %d in the server's log, %d in the plan", lv.Client.Requests, len(log), requests)
	}
	percentilesOf(t, lv, raw)
	slices.Sort(log)
	return errors.Join(rightRate(rate, lv, log), l.rightTimes(t, res, raw))
}

// rightRate checks the rate that was sent, and the one at which requests came to the server, without the first and the last second.
func rightRate(rate float64, lv *result.Level, log []int64) error {
	const tolerance = 0.005
	from, to := log[0]+int64(time.Second), log[len(log)-1]-int64(time.Second)
	first, _ := slices.BinarySearch(log, from)
	end, _ := slices.BinarySearch(log, to)
	delivered := float64(end-first) / time.Duration(to-from).Seconds()
	if math.Abs(lv.Client.SendRate/rate-1) > tolerance || math.Abs(delivered/rate-1) > tolerance {
		return fmt.Errorf("%.2f requests/s were sent and %.2f delivered, %g in the plan", lv.Client.SendRate, delivered, rate)
	}
	return nil
}

// rightTimes compares the result with the log of the network: every send, corrected by the clock of its worker, is right to within the stated
// error, and the workers began within the stated time.
func (l *distantLab) rightTimes(t *testing.T, res *result.Result, raw string) error {
	t.Helper()
	const sendTime = 3 * time.Millisecond // from the reading of the clock to the packet on the network, on a machine with few cores
	slots, walls, sents, dues := column(t, raw, "slot"), column(t, raw, "wall_ns"), column(t, raw, "sent_ns"), column(t, raw, "due_ns")
	var late []time.Duration // how late, in truth, the first request of each worker left
	for i, m := range res.Fleet.Members {
		var stated []int64
		due := int64(math.MaxInt64)
		for k := range slots {
			if int(slots[k])%len(res.Fleet.Members) == i {
				stated = append(stated, walls[k])
				due = min(due, walls[k]-sents[k]+dues[k])
			}
		}
		slices.Sort(stated)
		truth := l.sends(i)
		if len(truth) != len(stated) {
			t.Fatalf("worker %s: %d requests in the result, %d on the network", m.Name, len(stated), len(truth))
		}
		late = append(late, time.Duration(truth[0]-due))
		errs := make([]time.Duration, len(truth))
		for k := range truth {
			errs[k] = time.Duration(truth[k] - stated[k])
		}
		slices.Sort(errs)
		middle, bound := errs[len(errs)/2], time.Duration(m.ClockErrorNs)
		t.Logf("worker %s: sends left its host %s (median) after the stated time; the clock is known to within %s", m.Name, middle, bound)
		if middle < -bound || middle > bound+sendTime {
			return fmt.Errorf("worker %s: its sends are %s off, and its clock is said to be known to within %s", m.Name, middle, bound)
		}
	}
	apart, stated := slices.Max(late)-slices.Min(late), time.Duration(res.Fleet.StartSkewNs+2*res.Fleet.ClockErrorNs)
	t.Logf("the workers began %s apart; stated: at most %s, of which %s by their own clocks", apart, stated, time.Duration(res.Fleet.StartSkewNs))
	if apart > stated+sendTime {
		return fmt.Errorf("the workers began %s apart, and the report says at most %s", apart, stated)
	}
	return nil
}

// A host whose network is interrupted for 3 s, with requests and records on their way, stays in the run: each request gets its response, and each record
// comes.
func TestAHostThatIsCutOffForThreeSeconds(t *testing.T) {
	t.Parallel()
	link := netns.Link{Out: time.Millisecond, In: time.Millisecond}
	l := openDistant(t, link, link, link)
	file := filepath.Join(t.TempDir(), "r.json")
	p := l.profile(t, "-i", "grpc", "-u", l.grpc, "--request-rate-range", "100", "--request-count", "600", "--json", file)
	l.loaded(t, p, 100)
	watch := disturbance.Start()
	l.hosts[1].Cut(true)
	time.Sleep(3 * time.Second) // the length of the interruption is what is tested
	l.hosts[1].Cut(false)
	p.wait(t)
	l.complete(t, file, 600, watch.Stop())
}
