package service_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func TestSaid(t *testing.T) {
	if got := service.Said("over\x1b[31mloaded\n\u009bnow"); got != "over[31mloaded\nnow" {
		t.Errorf("%q", got)
	}
	if got := service.Said("short"); got != "short" {
		t.Errorf("%q", got)
	}
	got := service.Said(strings.Repeat("ä", 1<<20))
	if len(got) > 5000 || !utf8.ValidString(got) || !strings.HasSuffix(got, "... (2097152 bytes in all)") {
		t.Errorf("%d bytes, ends with %q", len(got), got[len(got)-30:])
	}
}

// The limit of a response follows from the model's outputs, and never stands in the way of a large model.
func TestResponseLimit(t *testing.T) {
	model := func(dims ...int64) *service.Model {
		return &service.Model{Outputs: []service.TensorSpec{{Type: tensor.FP32, Shape: dims}, {Type: tensor.Bytes, Shape: tensor.Shape{1}}}}
	}
	for _, c := range []struct {
		m     *service.Model
		batch int
		asked int64
		want  int64
	}{
		{nil, 1, 0, plan.DefaultMaxResponse},
		{model(16), 1, 0, plan.DefaultMaxResponse},
		{model(-1), 4, 0, plan.DefaultMaxResponse},
		{model(1 << 20), 16, 0, 16 * 8 * 4 << 20},
		{model(1 << 20), 16, 1000, 1000},
		{model(1<<31, 1<<31), 1, 0, 1<<31 - 1},
	} {
		target := plan.Target{MaxResponse: c.asked}
		if got := target.ResponseLimit(c.m.OutputBytes(c.batch)); got != c.want {
			t.Errorf("outputs %+v, batch %d, asked for %d: %d, want %d", c.m, c.batch, c.asked, got, c.want)
		}
	}
}
