// Package scrape reads a server's Prometheus endpoint while a level is measured.
//
// A Poller asks the endpoint at a fixed interval in the background, from the first window of a level to its last.
// At each window's end the caller takes the pages that came in since the window before, with the last page from
// before it, so that gauges can be averaged over the window and counters subtracted across it. GPU turns the pages
// of the windows that count into the GPU figures of the result.
//
// A failing first poll is an error: the run asked for metrics that cannot be had. Later failures are counted and
// handed over with the window, and polling goes on.
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

// What a poll can fail with, for callers that have their own words for each.
var (
	// ErrConnect: the endpoint gave no response.
	ErrConnect = errors.New("no answer from the metrics endpoint")
	// ErrStatus: the endpoint answered, but not with status 200.
	ErrStatus = errors.New("the metrics endpoint refused")
)

const (
	defaultTimeout = 10 * time.Second
	maxBody        = 64 << 20
)

// Config says what to poll.
type Config struct {
	// URL is the endpoint; without a scheme it is taken as http.
	URL      string
	Interval time.Duration
	// Timeout bounds one poll; 0 is ten seconds.
	Timeout time.Duration
	// Keep chooses the metrics to hold on to by name; nil keeps all, which a long window pays for in memory.
	Keep func(name string) bool
	// Expect names the metrics whose absence is to be told.
	Expect []string
	// Client sends the requests; nil is a plain client of the poller's own, without proxies.
	Client *http.Client
}

// Window is what was gathered between two calls of Take.
type Window struct {
	Pages []*Page
	// Before is the newest page from before the window; nil in the first.
	Before *Page
	// Missing names the expected metrics that a page did not hold. Slow tells of a poll that took longer than the
	// interval. Each is set at the first occurrence in the poller's life, and never again.
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

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu                      sync.Mutex
	window                  Window
	last                    *Page
	toldMissing, toldSlowly bool
}

// New makes a poller that is not polling yet.
func New(conf Config) *Poller {
	p := &Poller{conf: conf, url: conf.URL, client: conf.Client}
	if !strings.Contains(p.url, "://") {
		p.url = "http://" + p.url
	}
	if p.client == nil {
		p.client = &http.Client{Transport: &http.Transport{}}
	}
	if p.conf.Timeout <= 0 {
		p.conf.Timeout = defaultTimeout
	}
	return p
}

// Start polls once and returns how that went; when it went well, polling goes on in the background until Stop or
// until ctx ends. What an earlier Start left untaken is dropped.
func (p *Poller) Start(ctx context.Context) error {
	if p.cancel != nil {
		return errors.New("the metrics poller is running already")
	}
	p.mu.Lock()
	p.window, p.last = Window{}, nil
	p.mu.Unlock()
	begun := time.Now()
	page, err := p.poll(ctx)
	if err != nil {
		return err
	}
	p.add(page)
	ctx, p.cancel = context.WithCancel(ctx)
	p.done.Go(func() { p.loop(ctx, begun) })
	return nil
}

// Stop ends polling and waits until it has ended. What was gathered can still be taken.
func (p *Poller) Stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	p.done.Wait()
	p.cancel = nil
	p.client.CloseIdleConnections()
}

// Take returns what was gathered since the last Take, and begins a new window.
func (p *Poller) Take() Window {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.window
	p.window = Window{Before: p.last}
	return w
}

// loop starts a poll every interval; one that overruns is followed by the next at once.
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
		page, err := p.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.fail(err)
			// A refused connection comes back at once: without the pause this would spin.
			begun = time.Now()
		} else {
			p.add(page)
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

func (p *Poller) poll(ctx context.Context) (*Page, error) {
	ctx, cancel := context.WithTimeout(ctx, p.conf.Timeout)
	defer cancel()
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
	if _, err := io.Copy(body, io.LimitReader(resp.Body, maxBody)); err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrConnect, p.url, err)
	}
	took := time.Since(begun)
	// A line that cannot be read leaves its metric out, and Missing tells when that matters.
	page, _ := Parse(body.String(), p.conf.Keep)
	page.At, page.Took = begun.Add(took), took
	return page, nil
}
