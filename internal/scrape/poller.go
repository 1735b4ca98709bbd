// Package scrape reads a server's Prometheus endpoint while a level is measured.
//
// A Poller reads the endpoint at a fixed interval in the background, from the first window of a level to its last. At the end
// of each window the caller takes the pages of that window and the last page before it, so that gauges can be averaged and
// counters subtracted. GPU converts the pages of the merged windows to the GPU values of the result.
//
// A failing first poll is an error, because the run cannot get its metrics. Later failures are counted and returned with the
// window, and polling continues.
package scrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Errors of a poll, for callers with their own messages.
var (
	// ErrConnect: the endpoint gave no response.
	ErrConnect = errors.New("no response from the metrics endpoint")
	// ErrStatus: the endpoint responded with a status other than 200.
	ErrStatus = errors.New("the metrics endpoint refused")
)

const (
	defaultTimeout = 10 * time.Second
	defaultMaxBody = 64 << 20
)

// Config says what to poll.
type Config struct {
	// URL is the endpoint; without a scheme it is taken as http.
	URL      string
	Interval time.Duration
	// Timeout limits one poll; 0 means ten seconds.
	Timeout time.Duration
	// Keep selects the metrics to keep by name; nil keeps all, which needs memory in long windows.
	Keep func(name string) bool
	// Expect names the metrics that Window.Missing reports if they are absent.
	Expect []string
	// MaxBody limits a page; a larger one is a failure. 0 means 64 MiB.
	MaxBody int64
	// Client sends the requests; nil means a client without proxies.
	Client *http.Client
}

// Complete completes the address of an endpoint, as AIPerf does: without a scheme it is http, without a path /metrics.
func Complete(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "http", address
	}
	if !strings.ContainsAny(rest, "/?") {
		rest += "/metrics"
	}
	return scheme + "://" + rest
}

// Window is what was collected between two calls of Take.
type Window struct {
	Pages []*Page
	// Before is the newest page from before the window; nil in the first.
	Before *Page
	// Missing names the expected metrics that a page did not have. Slow is a poll that took longer than the interval. Each is
	// set only at the first occurrence.
	Missing []string
	Slow    *Slow
	// Failed counts the polls without a page; Err is the first of their reasons.
	Failed int
	Err    error
}

// Slow is a poll that took longer than the interval.
type Slow struct {
	Took     time.Duration
	Interval time.Duration
}

// Poller polls one endpoint. One poller serves all levels of a run, one Start and Stop each.
type Poller struct {
	conf   Config
	url    string
	client *http.Client
	// turn has room for one poll: pages must come in the order in which they were requested, or counters would seem to fall.
	turn chan struct{}

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu                      sync.Mutex
	window                  Window
	last                    *Page
	toldMissing, toldSlowly bool
}

// New makes a poller that is not polling yet.
func New(conf Config) *Poller {
	p := &Poller{conf: conf, url: conf.URL, client: conf.Client, turn: make(chan struct{}, 1)}
	if !strings.Contains(p.url, "://") {
		p.url = "http://" + p.url
	}
	if p.client == nil {
		p.client = &http.Client{Transport: &http.Transport{}}
	}
	if p.conf.Timeout <= 0 {
		p.conf.Timeout = defaultTimeout
	}
	if p.conf.MaxBody <= 0 {
		p.conf.MaxBody = defaultMaxBody
	}
	return p
}

// Try reads an endpoint once. Its address is completed as by Complete.
func Try(ctx context.Context, address string) error {
	p := New(Config{URL: Complete(address)})
	defer p.client.CloseIdleConnections()
	return p.poll(ctx)
}

// Start polls once and returns its error. After success, polling continues in the background until Stop or until ctx ends.
// Pages of an earlier Start that were not taken are dropped.
func (p *Poller) Start(ctx context.Context) error {
	if p.cancel != nil {
		return errors.New("the metrics poller is running already")
	}
	p.mu.Lock()
	p.window, p.last = Window{}, nil
	p.mu.Unlock()
	begun := time.Now()
	if err := p.poll(ctx); err != nil {
		p.client.CloseIdleConnections()
		return err
	}
	ctx, p.cancel = context.WithCancel(ctx)
	p.done.Go(func() { p.loop(ctx, begun) })
	return nil
}

// Stop ends polling and waits until it has ended. Take can still be called once.
func (p *Poller) Stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	p.done.Wait()
	p.cancel = nil
	p.client.CloseIdleConnections()
}

// Poll reads the endpoint once more, after a poll under way. Its failure counts like that of any other poll, unless ctx was canceled.
func (p *Poller) Poll(ctx context.Context) {
	if err := p.poll(ctx); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		p.fail(err)
	}
}

// Take returns what was collected since the last Take, and begins a new window.
func (p *Poller) Take() Window {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.window
	p.window = Window{Before: p.last}
	return w
}

// loop starts a poll every interval. After a poll that takes longer, the next starts at once.
func (p *Poller) loop(ctx context.Context, begun time.Time) {
	timer := time.NewTimer(p.conf.Interval - time.Since(begun))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begun = time.Now()
		err := p.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.fail(err)
			// A refused connection comes back at once: without the pause this would spin.
			begun = time.Now()
		}
		timer.Reset(p.conf.Interval - time.Since(begun))
	}
}

func (p *Poller) add(page *Page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.window.Pages = append(p.window.Pages, page)
	p.last = page
	if !p.toldMissing {
		for _, name := range p.conf.Expect {
			if !page.Has(name) {
				p.window.Missing = append(p.window.Missing, name)
				p.toldMissing = true
			}
		}
	}
	if !p.toldSlowly && page.Took > p.conf.Interval {
		p.window.Slow = &Slow{Took: page.Took, Interval: p.conf.Interval}
		p.toldSlowly = true
	}
}

func (p *Poller) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.window.Failed == 0 {
		p.window.Err = err
	}
	p.window.Failed++
}

// poll reads the endpoint and adds the page.
func (p *Poller) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.conf.Timeout)
	defer cancel()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: the poll before has not ended: %w", ErrConnect, ctx.Err())
	}
	page, err := p.read(ctx)
	if err == nil {
		p.add(page)
	}
	return err
}

func (p *Poller) read(ctx context.Context) (*Page, error) {
	begun := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	req.Header.Set("User-Agent", "") // none is sent
	req.Header.Set("Accept", "text/plain;version=0.0.4, */*;q=0.1")
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConnect, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: get %s: status %s", ErrStatus, p.url, resp.Status)
	}
	body := new(strings.Builder)
	n := resp.ContentLength
	if n <= p.conf.MaxBody {
		if n, err = io.Copy(body, io.LimitReader(resp.Body, p.conf.MaxBody+1)); err != nil {
			return nil, fmt.Errorf("%w: read %s: %w", ErrConnect, p.url, err)
		}
	}
	if n > p.conf.MaxBody { // a part of a page would lack counters
		return nil, fmt.Errorf("the metrics page at %s has more than %d bytes", p.url, p.conf.MaxBody)
	}
	took := time.Since(begun)
	// An invalid line is ignored; Missing names its metric if it was expected.
	page, _ := Parse(body.String(), p.conf.Keep)
	page.At, page.Took = begun.Add(took), took
	return page, nil
}
