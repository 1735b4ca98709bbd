package target

import (
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Question asks a server with the services of this program.
func Question(t plan.Target, a *inspect.Access) *inspect.Question {
	return &inspect.Question{
		Target: t, Timeout: a.Timeout, KeyVariable: a.KeyVariable,
		Open: func(t plan.Target) (service.Service, error) {
			return kind.Open(&plan.Plan{Target: t, Input: plan.Input{Batch: 1, SharedMemory: plan.NoSharedMemory}})
		},
	}
}
