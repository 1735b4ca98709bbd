package model

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// checkReshapes compares each reshape with its dims: fixed elements and number of variable dimensions must be equal.
func (m *Model) checkReshapes() error {
	check := func(kind, name string, dims []int64, to *kserve.ModelTensorReshape) error {
		if to == nil {
			return nil
		}
		m.reshapes = true
		size, free := fixed(dims)
		newSize, newFree := fixed(to.GetShape())
		switch {
		case free != newFree:
			return fmt.Errorf("model %s '%s' has different number of variable-size dimensions for dims and reshape", kind, name)
		case size != newSize:
			return fmt.Errorf("model %s '%s' has different size for dims and reshape", kind, name)
		}
		return nil
	}
	for _, in := range m.Config.GetInput() {
		if err := check("input", in.GetName(), in.GetDims(), in.GetReshape()); err != nil {
			return err
		}
	}
	for _, out := range m.Config.GetOutput() {
		if err := check("output", out.GetName(), out.GetDims(), out.GetReshape()); err != nil {
			return err
		}
	}
	return nil
}

// fixed multiplies the dimensions that are fixed and counts those that are not.
func fixed(dims []int64) (size int64, free int) {
	size = 1
	for _, d := range dims {
		if d < 0 {
			free++
		} else {
			size *= d
		}
	}
	return size, free
}

// reshape gives the inputs the shapes that the model wants, and each response the shapes that the client knows.
func (m *Model) reshape(r *infer.Request) {
	batched := m.Config.GetMaxBatchSize() > 0
	for i := range r.Inputs {
		cfg := m.inputs[r.Inputs[i].Name].config
		if to := cfg.GetReshape(); to != nil {
			r.Inputs[i].Shape = turn(r.Inputs[i].Shape, batched, cfg.GetDims(), to.GetShape())
		}
	}
	reply := r.Reply
	r.Reply = func(resp *infer.Response) {
		outputs := slices.Clone(resp.Outputs) // a cache may hold the same response
		for i := range outputs {
			cfg := m.outputs[outputs[i].Name]
			if from := cfg.GetReshape(); from != nil {
				outputs[i].Shape = turn(outputs[i].Shape, batched, from.GetShape(), cfg.GetDims())
			}
		}
		changed := *resp
		changed.Outputs = outputs
		reply(&changed)
	}
}

// turn writes a shape of one form in another: free dimensions keep their values in order.
func turn(shape tensor.Shape, batched bool, from, to []int64) tensor.Shape {
	var out tensor.Shape
	if batched && len(shape) > 0 {
		out, shape = append(out, shape[0]), shape[1:]
	}
	var free []int64
	for i, d := range from {
		if d < 0 && i < len(shape) {
			free = append(free, shape[i])
		}
	}
	for _, d := range to {
		if d < 0 && len(free) > 0 {
			d, free = free[0], free[1:]
		}
		out = append(out, d)
	}
	return out
}

// readLabels reads the names of classes, a line each, of the outputs that name a file of them.
func readLabels(cfg *kserve.ModelConfig, folder string) (map[string][]string, error) {
	labels := map[string][]string{}
	for _, out := range cfg.GetOutput() {
		if out.GetLabelFilename() == "" {
			continue
		}
		if folder == "" && builtinLabels(out.GetLabelFilename()) {
			for k := range out.GetDims()[0] {
				labels[out.GetName()] = append(labels[out.GetName()], "CLASS "+strconv.FormatInt(k, 10))
			}
			continue
		}
		if !filepath.IsLocal(out.GetLabelFilename()) || folder == "" {
			return nil, fmt.Errorf("the label file '%s' of output '%s' must be in the folder of model '%s'", out.GetLabelFilename(), out.GetName(), cfg.GetName())
		}
		text, err := os.ReadFile(filepath.Join(folder, out.GetLabelFilename()))
		if err != nil {
			return nil, fmt.Errorf("read the labels of output '%s': %w", out.GetName(), err)
		}
		for line := range strings.Lines(string(text)) {
			labels[out.GetName()] = append(labels[out.GetName()], strings.TrimRight(line, "\r\n"))
		}
	}
	return labels, nil
}

// builtinLabels reports whether a file is one that built-in models have: their classes are only numbered.
func builtinLabels(file string) bool {
	return file == "densenet_labels.txt" || file == "inception_labels.txt"
}
