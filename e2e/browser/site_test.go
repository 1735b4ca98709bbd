//go:build linux

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// loaded is what a page loads from another server.
var loaded = regexp.MustCompile(`(src="|<link[^>]* rel="stylesheet"[^>]* href=")https?://`)

// The site of docs/ is built without a broken link or anchor and without a page that has no place, loads nothing from elsewhere, can be
// searched, and fits narrow and wide windows in light and dark colors.
func TestSite(t *testing.T) {
	needBrowser(t)
	if _, err := peers.InstallList(t.Context(), peers.Site); err != nil {
		outcome.NotTested(t, "the site of docs/", err, "python3 with venv")
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), filepath.Join(binary.Root(), "scripts", "site.sh"), dir)
	must(t, build)
	for _, page := range htmlFiles(t, dir) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if m := loaded.Find(text); m != nil {
			t.Errorf("%s loads from another server: %s", page, m)
		}
	}

	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	p := openAt(t, server.URL+"/index.html", ".md-header")
	p.want("the parts of the site", `[...document.querySelectorAll(".md-tabs__link")].map((a) => a.textContent.trim()).join()`,
		"Redline,Start,Tasks,Coming from,Reference,Why trust it")
	p.search("goodput")
	for _, name := range []string{"index", "start/first-run", "coming-from/perf_analyzer", "results"} {
		p.do(chromedp.Navigate(server.URL+"/"+name+".html"), chromedp.WaitVisible(chromedp.CSS(".md-header")))
		for scheme, colors := range map[string]string{"light": "default", "dark": "slate"} {
			p.prefer(scheme)
			p.want(name+" prefers "+scheme, `document.body.getAttribute("data-md-color-scheme")`, colors)
			for _, w := range []int64{400, 1200} {
				p.do(chromedp.EmulateViewport(w, height))
				p.want(fmt.Sprintf("%s is wider than %d px", name, w), `document.documentElement.scrollWidth > innerWidth`, "false")
				p.shot(fmt.Sprintf("site-%s-%d-%s", strings.ReplaceAll(name, "/", "-"), w, scheme))
			}
		}
	}
	p.quiet(server.URL)
}

// search types a word into the search of the site and expects a result.
func (p *tab) search(word string) {
	p.Helper()
	p.js(`document.querySelector(".md-search__input").focus()`)
	p.do(chromedp.SendKeys(chromedp.CSS(".md-search__input"), word))
	p.want("the search finds "+word, `document.querySelectorAll(".md-search-result__item").length > 0`, "true")
	p.js(`document.querySelector("#__search").checked = false`)
}

// htmlFiles are the pages of a site.
func htmlFiles(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.html", "*/*.html"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) < 40 {
		t.Fatalf("the site has %d pages", len(list))
	}
	return list
}
