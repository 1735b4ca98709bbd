package qa

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	repeated = regexp.MustCompile(`\{(\d+) ([^ {}]*)\}`)
	number   = regexp.MustCompile(`\{(\d+)\}`)
	either   = regexp.MustCompile(`\{(\d+)\|(\d+)\}`)
	window   = regexp.MustCompile(`-p\{(\d+)\}`)
)

// The stability thresholds in percent. Triton's tests request 100. The windows of the quick tests are too short to tell
// anything of steadiness.
const (
	wholeThreshold = "100"
	quickThreshold = "9999"
)

// scale fills in numbers in braces: whole in heavy tests, a tenth otherwise, or the second of two. Windows are a tenth too,
// a fifth of a second at least. It adds the stability threshold where the line has none.
func scale(line string, heavy bool) string {
	choice, divisor, threshold := "$1", 1, wholeThreshold
	if !heavy {
		choice, divisor, threshold = "$2", 10, quickThreshold
		line = window.ReplaceAllStringFunc(line, func(s string) string {
			n, _ := strconv.Atoi(window.FindStringSubmatch(s)[1])
			return "-p" + strconv.Itoa(max(200, n/divisor))
		})
	}
	part := func(text string) int {
		n, _ := strconv.Atoi(text)
		return n / divisor
	}
	line = repeated.ReplaceAllStringFunc(line, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		return strings.TrimSpace(strings.Repeat(m[2]+" ", part(m[1])))
	})
	line = either.ReplaceAllString(line, choice)
	line = number.ReplaceAllStringFunc(line, func(s string) string { return strconv.Itoa(part(s[1 : len(s)-1])) })
	if !strings.Contains(line, " -s") {
		line += " -s " + threshold
	}
	return line + " -v"
}

func TestScale(t *testing.T) {
	const line = "-p{3000} a {30 x=y} b{1000}:{500} {5|7}"
	if got := scale(line, false); got != "-p300 a x=y x=y x=y b100:50 7 -s 9999 -v" {
		t.Error(got)
	}
	if got := scale(line, true); got != "-p3000 a "+strings.Repeat("x=y ", 30)+"b1000:500 5 -s 100 -v" {
		t.Error(got)
	}
	c := check{run: "{P} {M}", pass: "ok"}
	if got := fmt.Sprint(c.each([]string{"none", "system"})); got != "[-i grpc -u {grpc} none -i grpc -u {grpc} system -i http -u {http} none -i http -u {http} system]" {
		t.Error(got)
	}
	for output, want := range map[string]string{"fine": "", "an error": `the output has "error"`, "x: 0 infer/sec": `the output has ": 0 infer/sec"`} {
		if got := c.wrong(0, output); got != want {
			t.Errorf("%q: %q", output, got)
		}
	}
}
