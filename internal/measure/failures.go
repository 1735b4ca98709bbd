package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
)

// serverFailed states how many requests of a level failed, with which class, since when and for how long. It returns nil if
// at most the share limit of the requests failed.
func serverFailed(lv *result.Level, limit float64) *result.Reason {
	failed, all := Counts(lv)
	if failed == 0 || float64(failed) <= limit*float64(all) {
		return nil
	}
	class, text := mainFailure(lv)
	what := fmt.Sprintf("%.3g %% of the requests failed (%d of %d; at most %.3g %% may)", 100*float64(failed)/float64(all), failed, all, 100*limit)
	if class != "" {
		what += ", mostly " + class
	}
	if text != "" {
		what += ": " + cleantext.Line(text)
	}
	if when := failedWhen(lv.Timeline); when != "" && failed < all {
		what += "; " + when
	}
	return &result.Reason{What: what, Try: tryAfter(class)}
}

// Counts returns the failed and all requests of a level, over its whole time if the timeline is known, else over its windows.
func Counts(lv *result.Level) (failed, all uint64) {
	if lv.Timeline != nil {
		for i := range lv.Timeline.Slices {
			failed += lv.Timeline.Slices[i].Failed
			all += lv.Timeline.Slices[i].Failed + lv.Timeline.Slices[i].Ended
		}
	}
	listed := lv.Client.Failed
	if len(lv.Failures) > 0 {
		listed = 0
		for _, f := range lv.Failures {
			listed += f.Count
		}
	}
	if all == 0 {
		for i := range lv.Windows {
			all += lv.Windows[i].Client.Requests
		}
		all = max(all, lv.Client.Requests)
	}
	if listed > failed {
		failed, all = listed, all+listed-failed
	}
	return failed, all
}

// mainFailure returns the most frequent failure class and its first text.
func mainFailure(lv *result.Level) (class, text string) {
	byClass, texts := map[string]uint64{}, map[string]string{}
	for _, f := range lv.Failures {
		byClass[f.Class] += f.Count
		if _, ok := texts[f.Class]; !ok {
			texts[f.Class] = f.Text
		}
	}
	for _, c := range slices.Sorted(maps.Keys(byClass)) {
		if class == "" || byClass[c] > byClass[class] {
			class = c
		}
	}
	return class, texts[class]
}

// failedWhen states in which part of a level requests failed.
func failedWhen(t *result.Timeline) string {
	if t == nil {
		return ""
	}
	has := func(s result.Slice) bool { return s.Failed > 0 }
	first := slices.IndexFunc(t.Slices, has)
	if first < 0 {
		return ""
	}
	last := first
	for i := range t.Slices {
		if has(t.Slices[i]) {
			last = i
		}
	}
	step := time.Duration(t.StepNs)
	from, length := time.Duration(first)*step, time.Duration(last-first+1)*step
	return fmt.Sprintf("the first %.1f s after the start of the level, the last %.1f s later", from.Seconds(), cmp.Or(length, step).Seconds())
}

// tryAfter returns advice for a failure class.
func tryAfter(class string) string {
	class, _, _ = strings.Cut(class, " ")
	switch class {
	case "connect", "transport":
		return "check that the server stays up, and its log"
	case "timeout":
		return "lower the load, or raise --request-timeout"
	case "mismatch":
		return "check the model: it answers, but not as expected"
	case "protocol":
		return "check that the address and the protocol are the server's"
	default:
		return "see the server's log; --max-error-rate PCT allows more failures"
	}
}

// ownLimit returns the reason that this machine could not open more connections; nil if it could. No server causes this.
func ownLimit(lv *result.Level) *result.Reason {
	for _, f := range lv.Failures {
		if f.Class != "connect" {
			continue
		}
		for errno, try := range map[syscall.Errno]string{
			syscall.EMFILE:        "raise the limit of open files (ulimit -n)",
			syscall.ENFILE:        "raise the system's limit of open files",
			syscall.EADDRNOTAVAIL: "lower the number of connections, or let the client use more ports or addresses",
		} {
			if strings.Contains(f.Text, errno.Error()) {
				return &result.Reason{What: fmt.Sprintf("%d connections could not be opened by this machine: %s", f.Count, errno), Try: try}
			}
		}
	}
	return nil
}
