package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/tritoncapi"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// Options are those that a command has for what can be tried.
type Options struct {
	Protocol string // the option of the protocol, such as -i
	Embedded bool   // whether the command has --embedded
}

// Advise says what a server did and what to try.
func Advise(t *plan.Target, o Options, e *service.Error) string {
	other := plan.GRPC
	if t.Protocol == plan.GRPC {
		other = plan.HTTP
	}
	if e.Op == kserve.OpShare && e.Class == record.Server {
		return fmt.Sprintf("%s refused shared memory: %s: it must run on this machine and see the same /dev/shm, or GPU (Docker: --ipc=host)",
			t.URL, Reason(e))
	}
	if kind.Of(t.Kind).InProcess() {
		why := Reason(e)
		if more := Inside(t, e); more != "" {
			why += ": " + more
		}
		return fmt.Sprintf("%s of model %q failed in the Triton of this process: %s", e.Op, t.Model, why)
	}
	class := e.Class
	if inHTTP1(e) {
		class = record.Protocol
	}
	switch class {
	case record.Connect:
		if line := widen(e); line != "" {
			return fmt.Sprintf("no connection to %s: %s", t.URL, line)
		}
		if !errors.Is(e, syscall.ECONNREFUSED) {
			return fmt.Sprintf("no %s connection to %s: %s", strings.ToUpper(string(t.Protocol)), t.URL, Reason(e))
		}
		text := fmt.Sprintf("no connection to %s: connection refused: is the server running there? -u HOST:PORT sets the address", t.URL)
		if o.Embedded {
			text += ", --embedded starts a server of our own"
		}
		return text
	case record.Protocol, record.Transport:
		if len(kind.Of(t.Kind).Protocols) == 1 {
			return fmt.Sprintf("%s does not respond like %s: %s; check the port of -u", t.URL, t.Kind, Reason(e))
		}
		return fmt.Sprintf("%s does not speak %s: %s: is it the server's %s port? %s %s changes the protocol",
			t.URL, strings.ToUpper(string(t.Protocol)), Reason(e), strings.ToUpper(string(other)), o.Protocol, other)
	case record.Timeout:
		return fmt.Sprintf("no answer from %s: %s", t.URL, Reason(e))
	default:
		return fmt.Sprintf("%s refused %s of model %q: %s", t.URL, e.Op, t.Model, Reason(e))
	}
}

// Explain is Advise, with what a server that refused to describe a model is or has.
func Explain(ctx context.Context, svc service.Service, t *plan.Target, o Options, e *service.Error) string {
	if what := stranger(ctx, t, e); what != "" {
		return what
	}
	return Advise(t, o, e) + modelsThere(ctx, svc, t, e)
}

// There is what a server that refused to describe a model is or has; "" after other errors.
func There(ctx context.Context, svc service.Service, t *plan.Target, e *service.Error) string {
	return cmp.Or(stranger(ctx, t, e), strings.TrimPrefix(modelsThere(ctx, svc, t, e), "; "))
}

// stranger says what a server is that does not answer as its kind should; "" if that is not known, or the server does.
func stranger(ctx context.Context, t *plan.Target, e *service.Error) string {
	if kind.Of(t.Kind).InProcess() || !kind.Of(t.Kind).ModelList {
		return ""
	}
	answered := e.Class == record.Protocol || e.Class == record.Transport || inHTTP1(e)
	if t.Protocol == plan.GRPC && answered || e.Op == kserve.OpMetadata && (noPath(e) || strings.HasPrefix(e.Text, "Malformed request: ")) {
		return inspect.Stranger(ctx, *t, false)
	}
	return ""
}

// inHTTP1 tells whether a server answered a client of gRPC in HTTP/1.
func inHTTP1(e *service.Error) bool { return strings.HasPrefix(e.Text, "the server answered HTTP/1") }

// noPath tells whether a server does not know a path of KServe v2, as opposed to a model: it says nothing about that.
func noPath(e *service.Error) bool {
	silent := errors.As(e, new(*service.StatusError)) || errors.As(e, new(*jsonscan.SyntaxError))
	return silent && (e.Code == http.StatusNotFound || e.Code == http.StatusMethodNotAllowed)
}

// modelsThere names the models of a server that refused to describe the one that was asked for; "" after other errors.
func modelsThere(ctx context.Context, svc service.Service, t *plan.Target, e *service.Error) string {
	if e.Op != kserve.OpMetadata || e.Class != record.Server || kind.Of(t.Kind).InProcess() {
		return ""
	}
	if noPath(e) || e.Code == int(codes.Unimplemented) {
		return "; it is no KServe v2 server, or has that at another port: check -u and --service-kind"
	}
	return cmp.Or(inspect.Unknown(ctx, svc, t.Model, t.Version), "; check that -m names a model that is loaded there")
}

// Few names some of a server's models in place of one that is not among them.
func Few(names []string, asked string) string { return inspect.Few(names, asked) }

// Reason is why a service failed, in one line.
func Reason(e *service.Error) string {
	if e.Text == "" && e.Err != nil {
		return cleantext.Line(e.Err.Error())
	}
	return cleantext.Line(e.Error())
}

// Inside is the cause of a failure of Triton in this process, where the error does not name it.
func Inside(t *plan.Target, err error) string {
	e, ok := errors.AsType[*service.Error](err)
	if !ok || !kind.Of(t.Kind).InProcess() || errors.As(err, new(*tritoncapi.LibraryError)) {
		return ""
	}
	cause := e.Err
	if f, ok := errors.AsType[*service.SentenceError](err); ok {
		cause = f.Err
	}
	if cause == nil || cause.Error() == e.Error() {
		return ""
	}
	return cause.Error()
}
