package service_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/service"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]int64{0: 10, 1: 10, 2: 20, 3: 40, 6: 320, 7: 500, 1000: 500} {
		if got := service.Backoff(failures).Milliseconds(); got != want {
			t.Errorf("after %d failures: %d ms, want %d", failures, got, want)
		}
	}
}
