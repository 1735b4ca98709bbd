package dash_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/dash"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/testkit"
)

type runs struct{}

func (runs) List() ([]page.Item, error) {
	return []page.Item{{ID: "one"}, {ID: "two", Workload: "w1"}, {ID: "three", Workload: "w2"}, {ID: "four", Workload: "w1"}}, nil
}

func (runs) Load(ids []string) (page.Data, error) {
	if ids[0] != "one" {
		return page.Data{}, errors.New("no such run")
	}
	return page.Data{Title: "one", Runs: []*page.View{{Name: strings.Join(ids, "+")}}}, nil
}

// hidden is a secret that no page may show.
func hidden() *secret.Set {
	var s secret.Set
	s.Add("SECRET-KEY")
	return &s
}

func listen(t *testing.T) *dash.Server {
	t.Helper()
	s, err := dash.Listen(t.Context(), "127.0.0.1:0", runs{}, hidden())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func get(t *testing.T, url string, change func(*http.Request)) (int, string) {
	t.Helper()
	res, body := testkit.Ask(t, http.MethodGet, url, change)
	return res.StatusCode, body
}

func TestPagesAreThere(t *testing.T) {
	s := listen(t)
	base := strings.TrimSuffix(s.URL(), "/")
	for path, want := range map[string]int{"/": 200, "/run/one": 200, "/compare/one/two": 200, "/run/none": 404, "/run/..%2f..%2fetc": 404, "/trend/one": 404, "/trend/none": 404, "/live": 404, "/api/live": 404, "/x": 404} {
		if code, _ := get(t, base+path, nil); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	if code, body := get(t, base+"/trend/four", nil); code != 200 || !strings.Contains(body, `"two"`) || strings.Contains(body, `"three"`) {
		t.Errorf("the trend of a workload: %d %.200s", code, body)
	}
	s.Show(&page.View{Name: "now", Live: true})
	if code, body := get(t, base+"/api/live", nil); code != 200 || !strings.Contains(body, `"live":true`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get(t, s.URL(), nil); code != 200 || !strings.Contains(body, "/api/live") {
		t.Errorf("%d %.200s", code, body)
	}
}

// A page waits for the state of the run after the one that it has.
func TestLiveDataWaits(t *testing.T) {
	s := listen(t)
	s.Show(&page.View{Name: "first", Live: true})
	base := strings.TrimSuffix(s.URL(), "/live")
	go s.Show(&page.View{Name: "second"})
	if _, body := get(t, base+"/api/live?after=1", nil); !strings.Contains(body, `"second"`) || !strings.Contains(body, `"seq":2`) {
		t.Errorf("after the first state came %s", body)
	}
}

// A name that was pointed at this machine, or a page from elsewhere, must not read what is here.
func TestOnlyItsOwnAddressIsAnswered(t *testing.T) {
	s := listen(t)
	for name, change := range map[string]func(*http.Request){
		"another host":   func(r *http.Request) { r.Host = "evil.example" },
		"another origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"no origin":      func(r *http.Request) { r.Header.Set("Origin", "null") },
	} {
		if code, body := get(t, s.URL(), change); code != http.StatusForbidden || strings.Contains(body, "one") {
			t.Errorf("%s: %d %.100s", name, code, body)
		}
	}
	if res, _ := testkit.Ask(t, http.MethodPost, s.URL(), nil); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", res.StatusCode)
	}
}

func TestMetricsAreInPrometheusForm(t *testing.T) {
	m, err := dash.ListenMetrics(t.Context(), "127.0.0.1:0", hidden(), telemetry.NewTally())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	m.Show("a\"b\n", &result.Level{Mode: plan.Concurrency, Concurrency: 4, Client: result.Client{Requests: 7, Latency: result.Metric{Quantiles: []result.Quantile{{P: 99.9, V: 5e6}}}}})
	_, body := get(t, m.URL(), nil)
	for _, want := range []string{
		`redline_requests{level="concurrency 4",model="a\"b\n"} 7`, `quantile="0.999"} 0.005`, "# TYPE redline_latency_seconds gauge",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing from\n%s", want, body)
		}
	}
}

func TestNoPageShowsASecret(t *testing.T) {
	s := listen(t)
	s.Show(&page.View{Name: "now SECRET-KEY", Live: true})
	base := strings.TrimSuffix(s.URL(), "/live")
	m, err := dash.ListenMetrics(t.Context(), "127.0.0.1:0", hidden(), telemetry.NewTally())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	m.Show("SECRET-KEY", &result.Level{})
	for _, url := range []string{base + "/live", base + "/api/live", m.URL()} {
		if code, body := get(t, url, nil); code != 200 || strings.Contains(body, "SECRET-KEY") || !strings.Contains(body, secret.Mask) {
			t.Errorf("%s: %d %.300s", url, code, body)
		}
	}
}

// A page that other machines can reach requests the token of its URL, whatever it is called, and then works with its
// links.
func TestOtherMachinesNeedTheToken(t *testing.T) {
	s, err := dash.Listen(t.Context(), "0.0.0.0:0", runs{}, hidden())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	u, err := url.Parse(s.URL())
	if err != nil || u.Query().Get("token") == "" {
		t.Fatalf("the address is %s, %v", s.URL(), err)
	}
	token := u.Query().Get("token")
	u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	f := func(query string, cookie *http.Cookie, want int) *http.Response {
		t.Helper()
		u.RawQuery = query
		resp, _ := testkit.Ask(t, http.MethodGet, u.String(), func(r *http.Request) {
			r.Host = "load-machine.example:80"
			if cookie != nil {
				r.AddCookie(cookie)
			}
		})
		if resp.StatusCode != want {
			t.Errorf("query %q, cookie %v: status %d, want %d", query, cookie, resp.StatusCode, want)
		}
		return resp
	}
	f("", nil, http.StatusForbidden)
	f("token=wrong", nil, http.StatusForbidden)
	resp := f("token="+token, nil, http.StatusOK)
	if len(resp.Cookies()) != 1 {
		t.Fatalf("cookies %v", resp.Cookies())
	}
	f("", resp.Cookies()[0], http.StatusOK)
	f("", &http.Cookie{Name: "token", Value: "wrong"}, http.StatusForbidden)
}
