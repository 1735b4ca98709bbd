// Package dash serves pages about runs on this machine: the run in progress, past runs, two runs beside each other, and
// the runs of one workload over time.
//
// The server listens on loopback unless told otherwise, and answers only requests that name it by its own address: a page
// of another site, or another name of this machine, gets nothing. If the server listens for other machines too, it answers
// only requests with the token of its URL. Every request only reads.
package dash

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/secret"
)

// Runs reads past runs.
type Runs interface {
	// List returns past runs, the newest first.
	List() ([]page.Item, error)
	// Load returns one run, or two with their comparison.
	Load(ids []string) (page.Data, error)
}

// Server is a running dashboard.
type Server struct {
	runs  Runs
	addr  string
	token string // required of requests; empty on loopback
	srv   *http.Server
	done  sync.WaitGroup
	// secrets are replaced in the data of pages, and in everything else that is sent.
	secrets *secret.Set

	mu   sync.Mutex
	live *page.View    // the run in progress; nil if there is none
	seq  int           // counts the states of live
	next chan struct{} // closed when live changes
}

// Listen starts serving on the address; a number is a port of this machine. Close must be called.
func Listen(ctx context.Context, address string, runs Runs, secrets *secret.Set) (*Server, error) {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		address = net.JoinHostPort("127.0.0.1", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve the pages: %w", err)
	}
	s := &Server{runs: runs, addr: l.Addr().String(), next: make(chan struct{}), secrets: secrets}
	if ap, err := netip.ParseAddrPort(s.addr); err != nil || !ap.Addr().IsLoopback() {
		s.token = rand.Text()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET /run/{id}", s.run)
	mux.HandleFunc("GET /compare/{a}/{b}", s.run)
	mux.HandleFunc("GET /trend/{id}", s.trend)
	mux.HandleFunc("GET /live", s.livePage)
	mux.HandleFunc("GET /api/live", s.liveData)
	s.srv = &http.Server{Handler: redacted(secrets, s.guard(mux)), ReadHeaderTimeout: 5 * time.Second}
	s.done.Go(func() { _ = s.srv.Serve(l) }) // Close ends it
	return s, nil
}

// URL is the address of the page of the run in progress, or of the list.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := "/"
	if s.live != nil {
		path = "/live"
	}
	if s.token == "" {
		return "http://" + s.addr + path
	}
	return "http://" + reachable(s.addr) + path + "?" + tokenName + "=" + s.token
}

// reachable returns an address that other machines can use: with the name of this machine if the server listens on all
// addresses.
func reachable(addr string) string {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || !ap.Addr().IsUnspecified() {
		return addr
	}
	host, err := os.Hostname()
	if err != nil {
		return addr
	}
	return net.JoinHostPort(host, strconv.Itoa(int(ap.Port())))
}

// Close stops the server at once.
func (s *Server) Close() error {
	err := s.srv.Close()
	s.done.Wait()
	return err
}

// Show makes v the state of the run in progress, and sends it to the pages that wait for it.
func (s *Server) Show(v *page.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = v
	s.seq++
	close(s.next)
	s.next = make(chan struct{})
}

// state returns the run in progress, its number, and the channel that is closed when it changes.
func (s *Server) state() (*page.View, int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, s.seq, s.next
}

// guard refuses requests that do not use the server's own address, or lack the token.
func (s *Server) guard(next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(s.addr)
	own := []string{s.addr, "localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if s.token == "" && !slices.Contains(own, r.Host) {
			http.Error(w, "this page answers only to its own address", http.StatusForbidden)
			return
		}
		if s.token != "" && !s.knows(w, r) {
			http.Error(w, "open the address with its token, as redline printed it", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
				http.Error(w, "this page answers only to itself", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// tokenName is the token's name in the URL and in the cookie that keeps it for the links of the page.
const tokenName = "token"

// knows reports whether a request has the token.
func (s *Server) knows(w http.ResponseWriter, r *http.Request) bool {
	same := func(got string) bool { return subtle.ConstantTimeCompare([]byte(got), []byte(s.token)) == 1 }
	if same(r.URL.Query().Get(tokenName)) {
		http.SetCookie(w, &http.Cookie{Name: tokenName, Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		return true
	}
	c, err := r.Cookie(tokenName)
	return err == nil && same(c.Value)
}

func (s *Server) home(w http.ResponseWriter, _ *http.Request) {
	list, err := s.runs.List()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	live, _, _ := s.state()
	s.write(w, page.Data{Title: "redline", List: &page.List{Items: list, Live: live != nil}})
}

func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	ids := []string{r.PathValue("id")}
	if a := r.PathValue("a"); a != "" {
		ids = []string{a, r.PathValue("b")}
	}
	d, err := s.runs.Load(ids)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	d.Home = "/"
	s.write(w, d)
}

// trend shows the runs that have the command and the workload of one run.
func (s *Server) trend(w http.ResponseWriter, r *http.Request) {
	list, err := s.runs.List()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	i := slices.IndexFunc(list, func(it page.Item) bool { return it.ID == r.PathValue("id") })
	if i < 0 || list[i].Workload == "" {
		http.Error(w, "there is no such run with a known workload in the history", http.StatusNotFound)
		return
	}
	of := list[i]
	list = slices.DeleteFunc(list, func(it page.Item) bool { return it.Workload != of.Workload || it.Command != of.Command })
	s.write(w, page.Data{Title: "redline trend", Home: "/", List: &page.List{Items: list, Trend: true}})
}

func (s *Server) livePage(w http.ResponseWriter, _ *http.Request) {
	v, seq, _ := s.state()
	if v == nil {
		http.Error(w, "no run is in progress", http.StatusNotFound)
		return
	}
	s.write(w, page.Data{Title: v.Name, Runs: []*page.View{v}, Feed: "/api/live", Seq: seq, Home: "/"})
}

// liveData answers with the state of the run that follows the state number "after"; it waits for that state. The page of
// a run always has such a request open, so that it learns the end of the run before the server stops.
func (s *Server) liveData(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after")) // 0 if absent
	for {
		v, seq, next := s.state()
		if v == nil {
			http.Error(w, "no run is in progress", http.StatusNotFound)
			return
		}
		if seq > after {
			s.writeState(w, page.Data{Runs: []*page.View{v}, Seq: seq})
			return
		}
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Server) writeState(w http.ResponseWriter, d page.Data) {
	b, err := d.JSON(s.secrets)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = public(w).Write(b) // fails only if the browser is gone
}

func (s *Server) write(w http.ResponseWriter, d page.Data) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := page.Write(public(w), d, s.secrets); err != nil && !errors.Is(err, http.ErrHandlerTimeout) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
