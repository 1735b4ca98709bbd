package testkit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// heavyRounds is how many times as many rounds `make test-heavy` runs.
const heavyRounds = 20

// Rounds checks a property in n rounds. Round i draws from a generator with the seed i, and its name shows the seed:
// `go test -run 'TestX/seed=17$'` repeats one round.
func Rounds(t *testing.T, n int, property func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	if outcome.Heavy() {
		n *= heavyRounds
	}
	for seed := range uint64(n) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			property(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}
