package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// end prints the last words, writes the result and chooses the exit code.
func (r *session) end(limits [][]result.Reason, stopped string, err error) int {
	r.conclude(limits, stopped, err)
	r.outcome.Sign(r.res, r.hash)
	werr := report.WriteFile(r.Files, r.opts.JSON, r.res)
	r.workers.keep = r.workers.keep && werr != nil
	if len(r.res.Levels) > 0 && (!r.opts.blocks() || r.opts.Verbose) {
		r.showVerdict()
	}
	if r.opts.usualFolder() && len(r.res.Levels) > 0 && !r.opts.blocks() {
		fmt.Fprintf(r.Stdout, "Files: %s\n", r.usualFiles())
	}
	if r.lost != nil {
		for line := range strings.Lines(r.lost.Error()) {
			fmt.Fprintf(r.Stderr, "redline llm: %s\n", strings.TrimSpace(line))
		}
	}
	if err == nil {
		err = werr
	}
	switch why := r.problem(stopped, err); {
	case r.res.Interrupted:
		return command.ExitInterrupted
	case why != nil:
		return r.failed(why)
	case r.lost != nil:
		return command.ExitError
	}
	return command.ExitOK
}

// conclude ends the result, with its verdict.
func (r *session) conclude(limits [][]result.Reason, stopped string, err error) {
	r.res.EndUnixNs = time.Now().UnixNano()
	if r.workers.run != nil {
		r.res.Fleet = r.workers.run.Result()
	}
	if err != nil {
		r.res.Error = err.Error()
	}
	if err == nil && r.answers() == 0 && !r.idle() {
		r.stranger = r.identify()
	}
	r.res.Verdict = r.verdict(limits, stopped, err)
}

// problem is why the run failed; nil where it did not.
func (r *session) problem(stopped string, err error) error {
	switch {
	case err != nil:
		return err
	case r.answers() == 0 && !r.idle():
		return r.noAnswer()
	case stopped != "":
		return errors.New(stopped)
	case r.res.Verdict.State == result.ServerFailed:
		return errors.New("too many requests failed, see the verdict; --max-error-rate PERCENT allows more")
	}
	return nil
}

// noAnswer says why no request succeeded.
func (r *session) noAnswer() error {
	for i := range r.res.Levels {
		f := r.res.Levels[i].Failures
		if len(f) == 0 {
			continue
		}
		if r.stranger != "" {
			return fmt.Errorf("no request succeeded: %s", r.stranger)
		}
		said := ""
		if r.opts.blocks() || r.opts.Outcome.Quiet { // else the verdict has it
			said = "; " + r.advice(f[0].Class, f[0].Text)
		}
		return fmt.Errorf("no request succeeded: %s%s", f[0].Text, strings.TrimSuffix(said, "; "))
	}
	for i := range r.res.Levels {
		if m := r.res.Levels[i].Metric("canceled_request_count"); m != nil && m.Avg > 0 {
			return fmt.Errorf("no request was completed: all %.0f were canceled; lower --request-cancellation-rate, or give requests more time", m.Avg)
		}
	}
	return errors.New("no request was made: the prompts are used up, or the time was too short")
}

// identify says what a server is that refused everything, if it is none of language models.
func (r *session) identify() string {
	for i := range r.res.Levels {
		failures := r.res.Levels[i].Failures
		if len(failures) == 0 {
			continue
		}
		switch class := failures[0].Class; class {
		case "server 404", "server 405", "protocol":
			return inspect.Stranger(r.sigs.Soft, r.peer(), class == "protocol")
		}
		return ""
	}
	return ""
}

// advice is what to try after a refusal; empty if nothing is known.
func (r *session) advice(class, text string) string {
	switch {
	case r.stranger != "":
		return r.stranger
	case strings.Contains(text, "--enable-auto-tool-choice"):
		return "start vLLM with --enable-auto-tool-choice --tool-call-parser NAME, or add --extra-inputs tool_choice:none, which leaves the tools in the prompt"
	case class == "server 401" || class == "server 403":
		return "give a key with --api-key-env NAME, or a header with -H"
	case class == "server 404" || class == "server 405":
		return "check -u, --endpoint, --endpoint-type and -m" + r.modelsListed(class)
	case class == "server 429":
		return "the server wants less load, or a key with a higher limit"
	case class == "protocol":
		return "check --endpoint-type, --endpoint and --streaming"
	}
	return strings.TrimPrefix(r.modelsListed(class), "; ")
}

// modelsListed names the server's models after a refusal that an unknown model can have caused.
func (r *session) modelsListed(class string) string {
	if class != "server 404" && class != "server 400" {
		return ""
	}
	svc, err := r.lister()
	if err != nil {
		return ""
	}
	defer svc.Close()
	return inspect.Unknown(r.sigs.Soft, svc, r.opts.model(), "")
}

// failed says in one line what went wrong and returns the exit code.
func (r *session) failed(err error) int {
	if r.sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	fmt.Fprintf(r.Stderr, "redline llm: %v\n", r.advised(err))
	return command.ExitError
}

// advised is an error as one line, with what to try.
func (r *traffic) advised(err error) error {
	if e, ok := errors.AsType[*service.Error](err); ok && r.plan != nil {
		at := r.plan.Target
		if e.Addr != "" {
			at.URL = e.Addr
		}
		err = errors.New(target.Explain(r.sigs.Soft, r.svc, &at, target.Options{Protocol: "-i", Embedded: true}, e))
	}
	return errors.New(cleantext.Line(err.Error()))
}

// verdict judges the run.
func (r *session) verdict(limits [][]result.Reason, stopped string, err error) result.Verdict {
	run := measure.Run{
		Levels: slices.Clone(r.res.Levels), Limits: limits, MaxErrorRate: r.opts.ValidErrorRate, Interrupted: r.res.Interrupted,
		Longer: "wait longer for the last responses (--benchmark-grace-period), or measure longer (--benchmark-duration)",
		Advice: r.advice,
		More:   fmt.Sprintf("send at least %d requests (--request-count), or measure longer (--benchmark-duration)", measure.FewestRequests),
	}
	for i := range run.Levels {
		run.Levels[i].Stable = true // no stability rule is applied to language models
	}
	switch {
	case err != nil:
		run.Error = err.Error()
	case r.res.Interrupted:
	case stopped != "":
		run.Error, run.ServerGone = stopped, r.serverGone
	case r.answers() == 0 && !r.idle():
		run.Error, run.Unanswered = r.noAnswer().Error(), true
	}
	v := measure.Conclude(run)
	for i := range run.Levels {
		r.res.Levels[i].ServerFailed, r.res.Levels[i].TooShort = run.Levels[i].ServerFailed, run.Levels[i].TooShort
	}
	return v
}

// idle tells whether this process had nothing to send: other segments of the load had all of it.
func (r *session) idle() bool {
	return len(r.res.Levels) > 0 && !slices.ContainsFunc(r.res.Levels, func(lv result.Level) bool { return !lv.Idle })
}

// answers is the number of whole answers of all levels.
func (r *session) answers() uint64 {
	var n uint64
	for i := range r.res.Levels {
		n += r.res.Levels[i].Client.Requests
	}
	return n
}
