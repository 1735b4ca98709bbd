// Package page writes one result, or two side by side, as one HTML file that opens offline: it contains data, styles, script
// and charts, and loads nothing.
//
// The data is a View as JSON in a script element that is not run. The script inserts every text as text, never as markup, so
// that a model's name or an error cannot become code. A content security policy enforces this too.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/secret"
)

//go:embed assets/*.js assets/*.css
var assets embed.FS

// joined are files of the folder assets, one after another.
func joined(names ...string) string {
	return strings.Join(convert.All(names, func(name string) string {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return string(content)
	}), "\n")
}

// Data is what a page shows.
type Data struct {
	Title string  `json:"title"`
	Runs  []*View `json:"runs"`
	// Compare is the comparison of two runs, if the page shows two.
	Compare any `json:"compare,omitempty"`
	// Feed is the address that a live page asks for the next state of the run, and Seq the number of the state that it
	// has. Home is the address of the list of runs. A file has none of them.
	Feed string `json:"feed,omitempty"`
	Seq  int    `json:"seq,omitempty"`
	Home string `json:"home,omitempty"`
	// List is set in place of Runs if the page lists runs.
	List *List `json:"list,omitempty"`
}

// List is past runs, the newest first.
type List struct {
	Items []Item `json:"items"`
	Live  bool   `json:"live"`  // a run is in progress
	Trend bool   `json:"trend"` // the runs have one workload, and the page draws their figures over time
}

// Item is one run of a list.
type Item struct {
	ID         string  `json:"id"`
	Start      string  `json:"start"`
	Command    string  `json:"command"`
	Label      string  `json:"label,omitempty"`
	Model      string  `json:"model"`
	Version    string  `json:"version"`
	Workload   string  `json:"workload,omitempty"`
	Missed     int     `json:"missed,omitempty"` // rules that the run missed
	Levels     int     `json:"levels"`
	Throughput float64 `json:"throughput"`
	P99        float64 `json:"p99"`
	Verdict    string  `json:"verdict"`
}

// JSON encodes the data for the page, with secrets replaced in its texts. It escapes <, > and &, so that no text can end an element.
func (d *Data) JSON(secrets *secret.Set) ([]byte, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the page: %w", err)
	}
	return secrets.RedactJSON(data), nil
}

// Write writes the page. It replaces secrets in the data alone, and w must not replace them again: a secret may be a word of the
// page's own script or style, such as "function".
func Write(w io.Writer, d Data, secrets *secret.Set) error {
	data, err := d.JSON(secrets)
	if err != nil {
		return err
	}
	script := joined("uPlot.iife.min.js", "charts.js", "list.js", "find.js", "tune.js", "waterfall.js", "classes.js", "workers.js", "page.js")
	sum := sha256.Sum256([]byte(script))
	policy := "default-src 'none'; img-src data:; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
		"script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	parts := []string{
		`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="`, html.EscapeString(policy), `">
<meta name="color-scheme" content="light dark">
<title>`, html.EscapeString(secrets.Redact(d.Title)), `</title>
<style>`, joined("uPlot.min.css", "page.css"), `</style>
</head>
<body>
<main id="page"><noscript><p>This page draws its charts with a script, which is off in this browser.</p></noscript></main>
<script type="application/json" id="data">`, string(data), `</script>
<script>`, script, `</script>
</body>
</html>
`,
	}
	_, err = io.WriteString(w, strings.Join(parts, ""))
	return err
}
