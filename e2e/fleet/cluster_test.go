//go:build linux

package fleet_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// Of a cluster of three NATS servers, the one that leads the stream of the records is killed in the middle of a run: no worker is lost, and every
// request that the server got is in the result.
func TestAClusterLosesAServer(t *testing.T) {
	t.Parallel()
	completeDespite(t, func(leader *process, _ []*process) { leader.kill() })
}

// Of a cluster of three NATS servers, the two that do not lead the stream of the records stand still for some seconds, so that no record is stored: no
// worker is lost, and every request that the server got is in the result.
func TestAClusterStandsStill(t *testing.T) {
	t.Parallel()
	completeDespite(t, func(_ *process, others []*process) {
		for _, s := range others {
			_ = s.Process.Signal(syscall.SIGSTOP)
		}
		time.Sleep(6 * time.Second) // longer than a silent worker may take to answer
		for _, s := range others {
			_ = s.Process.Signal(syscall.SIGCONT)
		}
	})
}

// completeDespite checks that a run on a cluster of three NATS servers is complete when something happens to them in the middle of it.
func completeDespite(t *testing.T, happens func(leader *process, others []*process)) {
	t.Helper()
	l, servers := openCluster(t)
	file := filepath.Join(t.TempDir(), "r.json")
	p := l.profile(t, "--run-name", "night", "--request-rate-range", "100", "--request-count", "1000", "--json", file)
	l.loaded(t, p, 100)
	name := l.leader(t)
	leads := func(s *process) bool { return s.name == name }
	leader := servers[slices.IndexFunc(servers, leads)]
	watch := disturbance.Start()
	happens(leader, slices.DeleteFunc(servers, leads))
	p.wait(t)
	l.complete(t, file, 1000, watch.Stop())
}

// leader is the server that leads the stream of the records of the run "night".
func (l *lab) leader(t *testing.T) string {
	t.Helper()
	stream, err := jetStream(t, l).Stream(t.Context(), "redline_records_night")
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	if info.Config.Replicas != 3 || info.Cluster == nil || info.Cluster.Leader == "" {
		t.Fatalf("%d copies of the records, cluster %+v", info.Config.Replicas, info.Cluster)
	}
	return info.Cluster.Leader
}

// openCluster starts three NATS servers that keep three copies of streams, and two workers.
func openCluster(t *testing.T) (l *lab, servers []*process) {
	t.Helper()
	l = &lab{log: filepath.Join(t.TempDir(), "requests.jsonl")}
	var clients, routes []string
	for range 3 {
		clients, routes = append(clients, testkit.Port(t)), append(routes, "nats://"+testkit.Port(t))
	}
	for i, at := range clients {
		host, port, _ := strings.Cut(at, ":")
		name := fmt.Sprintf("nats-%d", i+1)
		servers = append(servers, start(t, name, filepath.Join(self, natsServer), "-a", host, "-p", port, "-js", "-sd", t.TempDir(), "--server_name", name,
			"--cluster_name", "three", "--cluster", routes[i], "--routes", strings.Join(routes, ",")))
	}
	l.address = "nats://" + strings.Join(clients, ",nats://")
	js := jetStream(t, l)
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // until the servers have found one another
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "probe", Replicas: 3})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	var err error
	if l.server, err = binary.StartServer(t.TempDir(), bin, "--request-log", l.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.server.Stop)
	l.worker(t, "w1", l.address)
	l.worker(t, "w2", l.address)
	return l, servers
}

// jetStream is a connection of the test to NATS.
func jetStream(t *testing.T, l *lab) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(l.address, nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
