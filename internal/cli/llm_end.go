package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// end prints the last words, writes the result and chooses the exit code.
func (r *llmRun) end(limits [][]result.Reason, stopped string, err error) int {
	r.res.EndUnixNs = time.Now().UnixNano()
	if err != nil {
		r.res.Error = err.Error()
	}
	r.res.Verdict = r.verdict(limits, stopped, err)
	werr := r.writeResult(r.opts.json, r.res)
	if len(r.res.Levels) > 0 && (!r.opts.seed() || r.opts.verbose) {
		r.showVerdict()
	}
	if r.lost != nil {
		for line := range strings.Lines(r.lost.Error()) {
			fmt.Fprintf(r.Stderr, "redline llm: %s\n", strings.TrimSpace(line))
		}
	}
	switch {
	case r.res.Interrupted:
		return exitInterrupted
	case err != nil:
		return r.failed(err)
	case werr != nil:
		return r.failed(werr)
	case r.answers() == 0:
		return r.failed(r.noAnswer())
	case stopped != "":
		return r.failed(errors.New(stopped))
	case r.res.Verdict.State == result.ServerFailed:
		return r.failed(errors.New("too many requests failed, see the verdict; --max-error-rate PERCENT allows more"))
	case r.lost != nil:
		return exitError
	}
	return exitOK
}

// noAnswer says why no request succeeded.
func (r *llmRun) noAnswer() error {
	for i := range r.res.Levels {
		if f := r.res.Levels[i].Failures; len(f) > 0 {
			return fmt.Errorf("no request succeeded: %s%s%s", f[0].Text, advice(f[0].Class), r.modelsListed(f[0].Class))
		}
	}
	return errors.New("no request was made: the prompts are used up, or the time was too short")
}

// advice is what to try after a refusal.
func advice(class string) string {
	switch class {
	case "server 401", "server 403":
		return "; give a key with --api-key-env NAME, or a header with -H"
	case "server 404", "server 405":
		return "; check -u, --endpoint, --endpoint-type and -m"
	case "server 429":
		return "; the server wants less load, or a key with a higher limit"
	case "protocol":
		return "; check --endpoint-type, --endpoint and --streaming"
	}
	return ""
}

// modelsListed names the server's models after a refusal that an unknown model can have caused.
func (r *llmRun) modelsListed(class string) string {
	if class != "server 404" && class != "server 400" {
		return ""
	}
	svc, err := r.lister()
	if err != nil {
		return ""
	}
	defer svc.Close()
	return inspect.Unknown(r.sigs.soft, svc, r.opts.model, "")
}

// failed says in one line what went wrong and returns the exit code.
func (r *llmRun) failed(err error) int {
	if r.sigs.soft.Err() != nil {
		return exitInterrupted
	}
	if e, ok := errors.AsType[*service.Error](err); ok && r.plan != nil {
		at := r.plan.Target
		if e.Addr != "" {
			at.URL = e.Addr
		}
		err = errors.New(adviseServer(&at, "-i", e) + modelsThere(r.sigs.soft, r.svc, &at, e))
	}
	fmt.Fprintf(r.Stderr, "redline llm: %s\n", cleantext.Line(err.Error()))
	return exitError
}

var _ load.Source = (*dataset.Source)(nil)
