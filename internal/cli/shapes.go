package cli

import (
	"strings"

	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

// shapes draws the latencies of a run where somebody looks at a terminal that knows the signs.
func (p *IO) shapes(res *result.Result) {
	if !p.OutTerminal || p.Getenv("TERM") == "dumb" || !p.utf8() {
		return
	}
	width := p.Width()
	if width <= 0 {
		width = 80
	}
	report.Shapes(p.Stdout, res.Levels, width-1)
}

// utf8 tells whether the locale's characters are those of Unicode; the first variable that is set decides.
func (p *IO) utf8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(p.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
