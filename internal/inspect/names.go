package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// listTimeout bounds the question for the models after an error: the user waits for the message.
const listTimeout = 5 * time.Second

// Unknown is the end of a message about a model that the server does not know: it names those that are there. It is empty
// where the server does not list its models, or lists this one as ready.
func Unknown(ctx context.Context, svc service.Service, model, version string) string {
	models, err := list(ctx, svc)
	if err != nil {
		return ""
	}
	return hint(models, model, version)
}

// Missing is the error of a command without the model that it needs.
func Missing(ctx context.Context, svc service.Service, t plan.Target) error {
	const text = "-m MODEL is missing"
	models, err := list(ctx, svc)
	what := ""
	if e, ok := errors.AsType[*service.Error](err); ok && (e.Class == record.Server || e.Class == record.Protocol) {
		what = Stranger(ctx, t, e.Class == record.Protocol)
	}
	switch {
	case errors.Is(err, errNoList):
		return errors.New(text)
	case what != "":
		return fmt.Errorf("%s, and %s", text, what)
	case err != nil:
		return fmt.Errorf("%s, and the server cannot be asked which models it has: %s", text, cleantext.Line(err.Error()))
	default:
		return errors.New(text + hint(models, "", ""))
	}
}

var errNoList = errors.New("servers of this kind do not list their models")

func list(ctx context.Context, svc service.Service) ([]service.ListedModel, error) {
	l, ok := svc.(service.Lister)
	if !ok {
		return nil, errNoList
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return l.Models(ctx)
}

// hint names models in place of one that the server refused.
func hint(models []service.ListedModel, asked, version string) string {
	var ready, rest, versions []string // versions are those of the one that was requested
	why := ""
	for _, m := range models {
		name := cleantext.Cut(m.Name, 80)
		if m.State != service.Ready {
			rest = append(rest, name)
			if m.Name == asked {
				why = "; " + name + " is there but not loaded" + because(m)
			}
			continue
		}
		ready = append(ready, name)
		if m.Name == asked {
			versions = append(versions, m.Version)
		}
	}
	ready, rest = slices.Compact(ready), slices.Compact(rest) // versions of a model follow one another
	switch {
	case len(versions) > 0 && (version == "" || slices.Contains(versions, version)):
		return ""
	case len(versions) > 0:
		return fmt.Sprintf("; %s has version %s", asked, joinFew(versions))
	case why != "":
		return why
	case len(ready) > 0:
		return "; the server has " + Few(ready, asked)
	case len(rest) > 0:
		return "; the server has loaded none of its models: " + joinFew(rest)
	}
	return "; the server has no models"
}

func because(m service.ListedModel) string {
	if m.Reason == "" {
		return ""
	}
	return ": " + cleantext.Cut(m.Reason, 120)
}

// Few names models in place of one that is not there: those first whose names begin as it does, and not all of many.
func Few(names []string, asked string) string {
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return commonPrefix(b, asked) - commonPrefix(a, asked) })
	return joinFew(names)
}

// commonPrefix is the number of characters that two names have in common at their beginning.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// joinFew lists names, up to a number that fits a message.
func joinFew(names []string) string {
	const most = 8
	if more := len(names) - most; more > 1 {
		return fmt.Sprintf("%s and %d more ('redline inspect' lists all)", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
