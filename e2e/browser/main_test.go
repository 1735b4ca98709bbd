//go:build linux

package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/netns"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// A page and a condition on it have far more time than they need; a busy machine uses some of it.
const (
	pageLimit = 5 * time.Minute
	wantLimit = time.Minute
)

// The window of every page.
const width, height = 1280, 900

var (
	redline string // the program
	files   string // a folder for files that several tests use
	browser context.Context
	missing error // why there is no browser
)

// unused are features of Chromium that the tests turn off. For the suggestions below its address bar, Chromium loads two hidden pages in each
// window; they took half of the CPU time of these tests.
const unused = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,Translate"

func TestMain(m *testing.M) {
	binary.Main(func(dir, bin string) (int, error) { return run(m, dir, bin) })
}

func run(m *testing.M, dir, bin string) (int, error) {
	redline, files = filepath.Join(bin, "redline"), dir
	path, err := peers.InstallChromium(context.Background())
	if err != nil {
		missing = err
		return m.Run(), nil
	}
	if code, done, err := netns.Enter(bin); done || err != nil {
		return code, err
	}
	if !netns.Inside() {
		fmt.Fprintln(os.Stderr, "this machine permits no network namespace: that pages fetch nothing is told from the browser's own events alone")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-features", unused),
		chromedp.WSURLReadTimeout(pageLimit), chromedp.WindowSize(width, height))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, end := chromedp.NewContext(alloc)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		return 0, fmt.Errorf("start chromium: %w", err)
	}
	browser = ctx
	return m.Run(), nil
}

// tab is one page in the browser, with its console errors and the addresses that it requested.
type tab struct {
	*testing.T
	ctx  context.Context
	mu   sync.Mutex
	said []string // errors on the console
	asks []string // addresses
}

// needBrowser ends the test if there is no browser.
func needBrowser(t *testing.T) {
	t.Helper()
	if missing != nil {
		outcome.NotTested(t, "the pages in a real browser", missing, "chromium")
	}
}

// open opens a page that Redline wrote.
func open(t *testing.T, url string) *tab {
	t.Helper()
	return openAt(t, url, "header.top")
}

// openAt opens a page and waits until an element is visible.
func openAt(t *testing.T, url, element string) *tab {
	t.Helper()
	p, err := tryOpen(t, url, element)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tryOpen does so where the page may be gone already.
func tryOpen(t *testing.T, url, element string) (*tab, error) {
	t.Helper()
	needBrowser(t)
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	t.Cleanup(cancel)
	p := &tab{T: t, ctx: ctx}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	console, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range console {
			if err == nil && (m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException()) {
				p.note(&p.said, m.String()+" "+m.URL)
			}
		}
	}()
	go func() {
		for e, err := range requests {
			if err == nil {
				p.note(&p.asks, e.Request.URL)
			}
		}
	}()
	return p, chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS(element)))
}

func (p *tab) note(to *[]string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to = append(*to, text)
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// eval is what an expression of the page comes to.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// text is that as text.
func (p *tab) text(expression string) string {
	p.Helper()
	return eval[string](p, "String("+expression+")")
}

// js runs something in the page.
func (p *tab) js(statement string) {
	p.Helper()
	eval[bool](p, "("+statement+", true)")
}

// click presses the element that an expression of the page finds.
func (p *tab) click(expression string) {
	p.Helper()
	p.do(chromedp.Click(chromedp.JSPath(expression)))
}

// want waits until an expression of the page comes to a text.
func (p *tab) want(what, expression, text string) {
	p.Helper()
	var got string
	if !eventually(func() bool { got = p.text(expression); return got == text }) {
		p.Errorf("%s: %q, want %q", what, got, text)
	}
}

// eventually waits until something holds, and reports whether it did.
func eventually(holds func() bool) bool {
	for end := time.Now().Add(wantLimit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// quiet checks that the page logged no error and requested only addresses with these prefixes.
func (p *tab) quiet(allowed string) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.said {
		p.Errorf("the page complained: %s", s)
	}
	for _, url := range p.asks {
		if !strings.HasPrefix(url, allowed) && !strings.HasPrefix(url, "data:") {
			p.Errorf("the page asked for %s", url)
		}
	}
}

// shot keeps a picture of the page where REDLINE_SHOTS names a folder.
func (p *tab) shot(name string) {
	p.Helper()
	dir := os.Getenv("REDLINE_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.Fatal(err)
	}
}

// command is a run of the program with a history of its own.
func command(t *testing.T, history string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), redline, args...)
	cmd.Env = append(os.Environ(), "REDLINE_HISTORY="+history)
	return cmd
}

// must runs a command, which must end well.
func must(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	needBrowser(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// The namespace must have no way out, or the tests prove less than they say.
func TestThereIsNoWayOut(t *testing.T) {
	needBrowser(t)
	if !netns.Inside() {
		outcome.NotTested(t, "that pages fetch nothing from the network", errors.New("this machine permits no network namespace"), "")
	}
	conn, err := net.DialTimeout("udp", "192.0.2.1:9", time.Second)
	if err == nil {
		conn.Close()
		t.Error("there is a route to the outside")
	}
}
