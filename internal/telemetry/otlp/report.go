package otlp

import (
	"sync"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
)

// Report gives fn what the SDK would print on standard error, each text once: OTEL_ variables that it cannot read, with their values,
// which may be secrets. It is called before Open. The SDK has one logger for the process.
func Report(fn func(text string)) {
	var mu sync.Mutex
	told := map[string]bool{}
	tell := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if !told[text] {
			told[text] = true
			fn(text)
		}
	}
	otel.SetLogger(funcr.New(func(_, text string) { tell(text) }, funcr.Options{}))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { tell(err.Error()) }))
}
