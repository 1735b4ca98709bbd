package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/tritoncapi"
	"github.com/redline-bench/redline/internal/workload"
)

// advise says in one line what went wrong, where, and what to do.
func (s *session) advise(err error) string {
	var se *service.Error
	var data *workload.DataError
	var start *startError
	switch {
	case errors.As(err, &data):
		return adviseData(data)
	case errors.As(err, &se):
		return adviseServer(&s.plan.Target, "-i", se) + modelsThere(s.sigs.soft, s.svc, &s.plan.Target, se)
	case errors.As(err, &start):
		return start.err.Error() // the step's name is perf_analyzer's
	default:
		return err.Error()
	}
}

func adviseData(e *workload.DataError) string {
	where := ""
	if e.Path != "" {
		where = e.Path + ": "
	}
	if e.Code != 0 {
		return fmt.Sprintf("%snot valid JSON at byte %d: check the file with a JSON validator", where, e.Offset)
	}
	return "input data: " + where + e.Text
}

// adviseServer says what a server did. option is the one that the command has for the protocol.
func adviseServer(t *plan.Target, option string, e *service.Error) string {
	other := plan.GRPC
	if t.Protocol == plan.GRPC {
		other = plan.HTTP
	}
	if e.Op == kserve.OpShare && e.Class == record.Server {
		return fmt.Sprintf("%s refused shared memory: %s: it must run on this machine and see the same /dev/shm, or GPU (Docker: --ipc=host)",
			t.URL, reason(e))
	}
	if t.Kind == plan.TritonCAPI { // there is no address
		why := reason(e)
		if more := inside(t, e); more != "" && e.Text != "" {
			why += ": " + more
		}
		return fmt.Sprintf("%s of model %q failed in the Triton of this process: %s", e.Op, t.Model, why)
	}
	switch e.Class {
	case record.Connect:
		if line := widen(e); line != "" {
			return fmt.Sprintf("no connection to %s: %s", t.URL, line)
		}
		if !errors.Is(e, syscall.ECONNREFUSED) {
			return fmt.Sprintf("no %s conversation with %s: %s", strings.ToUpper(string(t.Protocol)), t.URL, reason(e))
		}
		return fmt.Sprintf("no connection to %s: %s: is the server running there? -u HOST:PORT sets the address, --embedded starts a server of our own",
			t.URL, "connection refused")
	case record.Protocol, record.Transport:
		if t.Kind != plan.Triton { // the other kinds have one protocol
			return fmt.Sprintf("%s does not answer as %s does: %s: does -u name the right port?", t.URL, t.Kind, reason(e))
		}
		return fmt.Sprintf("%s does not speak %s: %s: is it the server's %s port? %s %s changes the protocol",
			t.URL, strings.ToUpper(string(t.Protocol)), reason(e), strings.ToUpper(string(other)), option, other)
	case record.Timeout:
		return fmt.Sprintf("no answer from %s: %s", t.URL, reason(e))
	default:
		return fmt.Sprintf("%s refused %s of model %q: %s", t.URL, e.Op, t.Model, reason(e))
	}
}

// modelsThere names the models of a server that refused to describe the one that was asked for; "" after other errors.
func modelsThere(ctx context.Context, svc service.Service, t *plan.Target, e *service.Error) string {
	if e.Op != kserve.OpMetadata || e.Class != record.Server || t.Kind == plan.TritonCAPI {
		return ""
	}
	return cmp.Or(inspect.Unknown(ctx, svc, t.Model, t.Version), "; check that -m names a model that is loaded there")
}

func reason(e *service.Error) string {
	if e.Text == "" && e.Err != nil {
		return cleantext.Line(e.Err.Error())
	}
	return cleantext.Line(e.Error())
}

// inside is what Triton in this process says of a failure, beyond the original's words.
func inside(t *plan.Target, err error) string {
	e, ok := errors.AsType[*service.Error](err)
	if !ok || t.Kind != plan.TritonCAPI || e.Err == nil || errors.As(err, new(*tritoncapi.LibraryError)) {
		return ""
	}
	return e.Err.Error()
}
