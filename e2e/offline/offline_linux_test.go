// Package offline holds that Redline uses no network but the addresses that the user names. Its tests run in a network
// namespace without routes: the kernel counts there what somebody wanted to send to the outside.
package offline

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/netns"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

var redline string // the program

func TestMain(m *testing.M) {
	binary.Main(func(_, bin string) (int, error) {
		redline = filepath.Join(bin, "redline")
		if code, done, err := netns.Enter(bin); done || err != nil {
			return code, err
		}
		return m.Run(), nil
	})
}

// attempts counts what left for the outside, or requested an address of a name, since it was made.
type attempts struct {
	routes int64
	asked  atomic.Int64
}

// watch counts. A name server of this machine would be at port 53 of a loopback address, which needs no route.
func watch(t *testing.T) *attempts {
	t.Helper()
	a := &attempts{routes: noRoutes(t)}
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", ":53")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for b := make([]byte, 1500); ; a.asked.Add(1) {
			if _, _, err := conn.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	return a
}

func (a *attempts) count(t *testing.T) int64 {
	t.Helper()
	return noRoutes(t) - a.routes + a.asked.Load()
}

// noRoutes is how often the kernel had no route for what somebody of this namespace wanted to send or connect to.
func noRoutes(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	sum := int64(0)
	for i, name := range names {
		if name == "OutNoRoutes" {
			sum += number(t, values[i])
		}
	}
	text, err = os.ReadFile("/proc/self/net/snmp6")
	if errors.Is(err, os.ErrNotExist) {
		return sum // a kernel without IPv6
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Ip6OutNoRoutes"); ok {
			sum += number(t, strings.TrimSpace(value))
		}
	}
	return sum
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// command runs the program with a home of its own, and reports whether it ended well.
func command(t *testing.T, home string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, redline, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "REDLINE_HISTORY="+filepath.Join(home, "history"))
	out, err := cmd.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

// TestNoNetworkButWhatTheUserNamed runs every kind of command against servers of this machine.
func TestNoNetworkButWhatTheUserNamed(t *testing.T) {
	if !netns.Inside() {
		outcome.NotTested(t, "that no command uses the network", errors.New("this machine permits no network namespace"), "")
	}
	control := watch(t)
	home := t.TempDir()
	for _, address := range []string{"192.0.2.1:8000", "server.invalid:8000"} {
		before := control.count(t)
		if out, err := command(t, home, "profile", "-m", "simple", "-u", address); err == nil || control.count(t) == before {
			t.Fatalf("an address outside was not noticed: %v, %d attempts\n%s", err, control.count(t)-before, out)
		}
	}
	before := control.count(t)
	srv, err := binary.Serve(home, redline, "serve")
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	const one = "--request-count=50"
	for _, args := range [][]string{
		{"profile", "-m", "simple", "-u", srv.HTTP, one, "--json", "a.json", "--report", "a.html", "--records", "a.parquet", "--metrics-listen", "127.0.0.1:0", "--dash"},
		{"profile", "-m", "simple", "-u", srv.GRPC, "-i", "grpc", "--streaming", one, "--json", "b.json", "--collect-metrics", "--metrics-url", srv.Metrics + "/metrics"},
		{"profile", "-m", "simple", "--embedded", one},
		{"profile", "-m", "simple", "-u", "localhost:" + port(srv.HTTP), one},
		{"simple", "-m", "custom_identity_fp32", "-u", srv.HTTP, "-c", "20", "-w", "5"},
		{"llm", "-m", "m", "-u", srv.Ports["openai"], "--streaming", "--request-count", "5", "--osl", "5", "--artifact-dir", "artifacts", "--report", "c.html", "--json", "c.json"},
		{"report", "a.json", "-o", "again.html"},
		{"compare", "a.json", "a.json"},
		{"history"},
		{"version"},
	} {
		if out, err := command(t, home, args...); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if n := control.count(t) - before; n != 0 {
			t.Errorf("%v: %d attempts to reach the outside", args, n)
			before += n
		}
	}
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return p
}
