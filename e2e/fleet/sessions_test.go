//go:build linux

package fleet_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Three workers hold two conversations at a time: one worker has nothing to do, each turn is sent once, and with all messages before it.
func TestConversationsOnAFleet(t *testing.T) {
	t.Parallel()
	l := open(t, 3)
	const sessions, turns = 7, 3
	var steps, want []string
	for turn := range turns {
		for s := range sessions { // the turns of a session are not beside each other
			steps = append(steps, fmt.Sprintf(`{"payload":[{"model":"m","messages":[{"role":"user","content":"%d.%d"}]}],"session_id":["s%d"],"delay":[1]}`, s, turn, s))
			var said []string
			for before := range turn {
				said = append(said, fmt.Sprintf("%d.%d", s, before), fmt.Sprintf("re %d.%d", s, before))
			}
			want = append(want, strings.Join(append(said, fmt.Sprintf("%d.%d", s, turn)), " "))
		}
	}
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []struct{ Content string } }
		if r.URL.Path != "/v1/chat/completions" || json.NewDecoder(r.Body).Decode(&body) != nil {
			http.NotFound(w, r)
			return
		}
		var said []string
		for _, m := range body.Messages {
			said = append(said, m.Content)
		}
		mu.Lock()
		got = append(got, strings.Join(said, " "))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"re %s"}}]}`, said[len(said)-1])
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file, data := filepath.Join(dir, "r.json"), write(t, "sessions.json", `{"data":[`+strings.Join(steps, ",")+`]}`)
	p := start(t, "coordinator", filepath.Join(bin, "redline"), "profile", "-m", "m", "--service-kind", "openai", "-u", strings.TrimPrefix(server.URL, "http://"), "--async", "--endpoint",
		"v1/chat/completions", "--input-data", data, "--session-concurrency", "2", "--workers", "3", "--nats", l.address, "--no-history", "--json", file)
	p.wait(t)
	res := readResult(t, file)
	if len(res.Levels) != 1 || res.Levels[0].Client.Requests != sessions*turns {
		t.Fatalf("the result has not the %d turns: %s\n%s", sessions*turns, res.Error, p.stderr.String())
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the server got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var shares []uint64
	for _, w := range res.Levels[0].Workers {
		shares = append(shares, w.Requests)
	}
	if slices.Sort(shares); !slices.Equal(shares, []uint64{0, 3 * turns, 4 * turns}) {
		t.Errorf("the workers sent %d turns", shares)
	}
}
