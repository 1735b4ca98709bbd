package convert_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/internal/convert"
)

func TestAll(t *testing.T) {
	if got := convert.All([]int{3, 1, 2}, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("got %q", got)
	}
	if got := convert.All(nil, strconv.Itoa); got != nil {
		t.Errorf("an empty list became %q, want nil", got)
	}
}
