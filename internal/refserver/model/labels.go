package model

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// Classify turns an output into its largest elements, as text "value:index" (and ":label" if the model has labels): for each
// element of the batch, or for the whole tensor if the model has no batching.
func (m *Model) Classify(t tensor.Tensor, classes int) (tensor.Tensor, error) {
	size, rows := t.Type.Size(), 1
	if size == 0 {
		return t, bad("output '%s' is %s, which has no classes", t.Name, t.Type)
	}
	out := tensor.Tensor{Name: t.Name, Type: tensor.Bytes}
	if m.Config.GetMaxBatchSize() > 0 && len(t.Shape) > 0 {
		rows, out.Shape = max(1, int(t.Shape[0])), tensor.Shape{t.Shape[0]}
	}
	width := len(t.Data) / size / rows
	classes = min(classes, width)
	out.Shape = append(out.Shape, int64(classes))
	values, order := make([]tensor.Num, width), make([]int, width)
	for row := t.Data; len(row) >= width*size && width > 0; row = row[width*size:] {
		for k := range values {
			values[k], order[k] = tensor.Number(t.Type, row[k*size:]), k
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(values[b].Real, values[a].Real), cmp.Compare(values[b].Whole, values[a].Whole))
		})
		for _, k := range order[:classes] {
			text := strconv.FormatInt(values[k].Whole, 10) + ":" + strconv.Itoa(k)
			if t.Type == tensor.FP32 || t.Type == tensor.FP64 {
				text = strconv.FormatFloat(values[k].Real, 'f', 6, 64) + ":" + strconv.Itoa(k)
			}
			if labels := m.labels[t.Name]; k < len(labels) {
				text += ":" + labels[k]
			}
			out.Data = tensor.AppendElement(out.Data, text)
		}
	}
	return out, nil
}

// readLabels reads the names of classes, a line each, of the outputs that name a file of them.
func readLabels(cfg *kserve.ModelConfig, folder string) (map[string][]string, error) {
	labels := map[string][]string{}
	for _, out := range cfg.GetOutput() {
		name, file := out.GetName(), out.GetLabelFilename()
		switch {
		case file == "":
		case folder == "" || !filepath.IsLocal(file):
			return nil, fmt.Errorf("the label file '%s' of output '%s' must be in the folder of model '%s'", file, name, cfg.GetName())
		default:
			text, err := os.ReadFile(filepath.Join(folder, file))
			if err != nil {
				return nil, fmt.Errorf("read the labels of output '%s': %w", name, err)
			}
			labels[name] = strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
		}
	}
	return labels, nil
}
