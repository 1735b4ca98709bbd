//go:build !(native && cgo && linux)

package tritoncapi

import (
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// New checks the target's folders, as it would where the library can be loaded, and then says that it cannot.
func New(t plan.Target, _ plan.Input) (service.Service, error) {
	if _, err := locate(t.ServerDirectory, t.ModelRepository); err != nil {
		return nil, err
	}
	return nil, ErrNotNative
}
