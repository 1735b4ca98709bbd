package scrape_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/testkit"
)

// write is the text form of a page.
func write(p *scrape.Page) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, s := range p.Samples {
		b.WriteString(s.Name + "{")
		for _, l := range s.Labels {
			fmt.Fprintf(&b, "%s=\"%s\",", l.Name, escape.Replace(l.Value))
		}
		b.WriteString("} " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
	}
	return b.String()
}

// endpoint answers without a network, in the fake time of a test.
type endpoint func(n int) (status int, body string, after time.Duration)

func (e endpoint) client() *http.Client {
	n := 0
	return &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		n++
		status, body, after := e(n)
		select {
		case <-time.After(after):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		if status == 0 {
			return nil, errors.New("connection refused")
		}
		return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// values are the values of metric v, page by page.
func values(pages []*scrape.Page) []float64 {
	var out []float64
	for _, p := range pages {
		out = append(out, p.Samples[0].Value)
	}
	return out
}

func TestPollerWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(func(n int) (int, string, time.Duration) { return 200, fmt.Sprintf("v %d\n", n), 30 * time.Millisecond })
		p := scrape.New(scrape.Config{URL: "host", Interval: 100 * time.Millisecond, Client: e.client()})
		begun := time.Now()
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Polls begin at 0, 100, 200, ... and end 30 ms later.
		at := func(d time.Duration) { time.Sleep(d - time.Since(begun)); synctest.Wait() }
		f := func(when time.Duration, before float64, want ...float64) {
			t.Helper()
			at(when)
			w := p.Take()
			if diff := cmp.Diff(values(w.Pages), want); diff != "" {
				t.Errorf("at %v: %s", when, diff)
			}
			if before == 0 != (w.Before == nil) || before != 0 && w.Before.Samples[0].Value != before {
				t.Errorf("at %v: the page before is %v, want %v", when, w.Before, before)
			}
		}
		f(250*time.Millisecond, 0, 1, 2, 3)
		f(310*time.Millisecond, 3)
		f(450*time.Millisecond, 3, 4, 5)
		at(510 * time.Millisecond)
		p.Stop() // cuts the sixth short
		if w := p.Take(); len(w.Pages) != 0 || w.Failed != 0 {
			t.Errorf("after Stop: %+v", w)
		}
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w := p.Take(); len(w.Pages) != 1 || w.Before != nil {
			t.Errorf("after the second Start: %+v", w)
		}
		p.Stop()
		p.Stop()
	})
}

func TestPollerEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(func(int) (int, string, time.Duration) { return 200, "v 1\n", 0 })
		ctx, cancel := context.WithCancel(t.Context())
		p := scrape.New(scrape.Config{URL: "host", Interval: time.Second, Client: e.client()})
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := p.Start(ctx); err == nil {
			t.Error("a second Start was accepted")
		}
		cancel()
		synctest.Wait() // the bubble fails on a goroutine that stays
		time.Sleep(5 * time.Second)
		if n := len(p.Take().Pages); n != 1 {
			t.Errorf("%d pages after the context ended, want 1", n)
		}
		p.Stop()
	})
}

func TestPollerTellsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(func(n int) (int, string, time.Duration) {
			after := time.Duration(0)
			if n >= 2 {
				after = 250 * time.Millisecond
			}
			return 200, "a 1\n", after
		})
		p := scrape.New(scrape.Config{URL: "host", Interval: 100 * time.Millisecond, Expect: []string{"a", "b", "c"}, Client: e.client()})
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := p.Take()
		if diff := cmp.Diff(w.Missing, []string{"b", "c"}); diff != "" || w.Slow != nil {
			t.Errorf("first: %s %v", diff, w.Slow)
		}
		// Polls 2, 3 and 4 take 250 ms each, back to back from 100 ms on.
		time.Sleep(900 * time.Millisecond)
		synctest.Wait()
		w = p.Take()
		want := &scrape.Slow{Took: 250 * time.Millisecond, Interval: 100 * time.Millisecond}
		if diff := cmp.Diff(w.Slow, want); diff != "" || w.Missing != nil || len(w.Pages) != 3 {
			t.Errorf("second: %s; missing %v; %d pages", diff, w.Missing, len(w.Pages))
		}
		p.Stop()
		// The next level tells neither again.
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w := p.Take(); w.Slow != nil || w.Missing != nil {
			t.Errorf("next level: %+v", w)
		}
		p.Stop()
	})
}

func TestPollerCountsLaterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(func(n int) (int, string, time.Duration) {
			switch n {
			case 2:
				return 0, "", 0
			case 3:
				return 503, "", 0
			case 4:
				return 200, "", time.Hour
			}
			return 200, "v 1\n", 0
		})
		p := scrape.New(scrape.Config{URL: "host", Interval: time.Second, Timeout: 2 * time.Second, Client: e.client()})
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6500 * time.Millisecond) // fails at 1, 2 and from 3 to 5 s; answers at 0 and 6 s
		synctest.Wait()
		w := p.Take()
		if len(w.Pages) != 2 || w.Failed != 3 || !errors.Is(w.Err, scrape.ErrConnect) {
			t.Errorf("%d pages, %d failures, %v", len(w.Pages), w.Failed, w.Err)
		}
		p.Stop()
	})
}

// Pages come in the order in which they were requested, so that counters do not seem to fall.
func TestPollWaitsForThePollUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endpoint(func(n int) (int, string, time.Duration) {
			delay := time.Duration(0)
			if n == 2 {
				delay = 400 * time.Millisecond
			}
			return 200, fmt.Sprintf("v %d\n", n), delay
		})
		p := scrape.New(scrape.Config{URL: "host", Interval: time.Second, Client: e.client()})
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1100 * time.Millisecond) // the second poll is under way
		p.Poll(t.Context())
		var got []float64
		for _, page := range p.Take().Pages {
			got = append(got, page.Samples[0].Value)
		}
		if !slices.Equal(got, []float64{1, 2, 3}) {
			t.Errorf("the pages are %v", got)
		}
		p.Stop()
	})
}

func TestPollerOverHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprintln(w, `nv_gpu_power_usage{gpu_uuid="G"} 70.5`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	f := func(url string, want error) {
		t.Helper()
		p := scrape.New(scrape.Config{URL: url, Interval: time.Hour, Timeout: time.Minute, Keep: scrape.IsGPUMetric})
		err := p.Start(t.Context())
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
		if err == nil {
			p.Stop()
			if w := p.Take(); len(w.Pages) != 1 || !w.Pages[0].Has("nv_gpu_power_usage") || w.Pages[0].At.IsZero() {
				t.Errorf("%s: %+v", url, w.Pages)
			}
		}
	}
	f(host+"/metrics", nil)
	f(server.URL+"/metrics", nil)
	f(host+"/other", scrape.ErrStatus)
	f("http://bad host/", scrape.ErrConnect)
	f("ftp://"+host, scrape.ErrConnect)
	f(testkit.Port(t)+"/metrics", scrape.ErrConnect)
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"host:8002": "http://host:8002/metrics", "https://host": "https://host/metrics", "http://host:1/other": "http://host:1/other", "host/m": "http://host/m",
	} {
		if got := scrape.Complete(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
