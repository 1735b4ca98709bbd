package service_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/service"
)

func TestBackoff(t *testing.T) {
	for failures, want := range map[int]time.Duration{0: 10, 1: 10, 2: 20, 3: 40, 6: 320, 7: 500, 1000: 500} {
		if got := service.Backoff(failures); got != want*time.Millisecond {
			t.Errorf("after %d failures: %s, want %s", failures, got, want*time.Millisecond)
		}
	}
}
