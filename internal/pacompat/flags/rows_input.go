package flags

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

func (r *raw) inputRows() []option.Row {
	in := &r.plan.Input
	return option.Group("Input data", []option.Row{
		{
			Short: 'b', Word: "batch-size", Arg: "N",
			Help: "batch size of each request. Throughput counts inferences: a request of batch size 8 counts eight times",
			To:   option.Int(&in.Batch, 1),
		}, {
			Long: "input-data", Arg: "zero|random|FILE|DIR", Repeat: true, Default: "random",
			Help: "where input tensors come from: zeros, random values, a directory with one file for each input, or JSON files " +
				"that also hold the expected outputs",
			To: option.Func(r.setInputData).Of("zero", "random"),
		}, {
			Long: "shape", Arg: "NAME:[DATATYPE:]D1,D2,...", Repeat: true,
			Help: "shape of an input with variable dimensions. If the server is not Triton, the whole shape, with -1 for the batch " +
				"dimension; if it does not state the inputs of the model, the datatype too, as in INPUT0:FP32:-1,224",
			To: option.Func(r.addShape),
		}, {
			Long: "string-length", Arg: "N", Unit: "characters",
			Help: "length of random strings",
			To:   option.Int(&in.StringLength, 1),
		}, {
			Long: "string-data", Arg: "TEXT",
			Help: "send this text as every string instead of random strings",
			To:   option.Text(&in.StringData),
		}, {
			Long: "input-tensor-format", Arg: "FORMAT", Default: cmp.Or(string(in.InputFormat), tensorFormats),
			Help: "HTTP: send tensors as bytes (binary) or as text (json)",
			To:   option.OneOf(&in.InputFormat, "binary", "json"),
		}, {
			Long: "output-tensor-format", Arg: "FORMAT", Default: cmp.Or(string(in.OutputFormat), tensorFormats),
			Help: "HTTP: request outputs as bytes (binary) or as text (json)",
			To:   option.OneOf(&in.OutputFormat, "binary", "json"),
		}, {
			Long: "shared-memory", Arg: "KIND",
			Help: "pass tensors through memory that is shared with a server on the same machine, instead of the network: system for " +
				"main memory, cuda for GPU memory",
			To: option.Word(&in.SharedMemory, plan.NoSharedMemory, plan.SystemSharedMemory, plan.CUDASharedMemory),
		}, {
			Long: "output-shared-memory-size", Arg: "SIZE",
			Help: "size of the shared memory region of an output with variable size",
			To:   r.bytes(&in.OutputRegionSize),
		},
	})
}

// setInputData tries the value as a path first, so that a file may be named "zero".
func (r *raw) setInputData(v string) error {
	if _, err := os.Stat(v); err == nil {
		r.paths = append(r.paths, v)
		return nil
	}
	switch v {
	case "zero":
		r.zero = true
	case "random":
	default:
		return fmt.Errorf("is zero, random, or a file or folder, and there is no %s", v)
	}
	return nil
}

// addShape refuses a batch dimension of -1 in perf_analyzer mode: perf_analyzer takes the shape without it.
func (r *raw) addShape(v string) error {
	if r.compat && strings.Contains(v[strings.LastIndexByte(v, ':')+1:], "-") {
		return fmt.Errorf("has dimensions of at least 1, not %q", v)
	}
	return r.plan.Input.AppendShape(v)
}

// tensorFormats is the default of the tensor formats in words.
const tensorFormats = "binary if the server lists that extension, else json"

func (r *raw) sequenceRows() []option.Row {
	in := &r.plan.Input
	return option.Group("Sequences", []option.Row{
		{
			Long: "sequence-length", Arg: "N", Default: "20", Unit: "requests",
			Help: "length of a sequence: the number of requests that share a correlation id",
			To:   option.Func(r.setSequenceLength),
		}, {
			Long: "sequence-length-variation", Arg: "PCT", Default: "20", Unit: "%",
			Help: "variation of --sequence-length, so that sequences do not all end at once",
			To:   option.Parsed(&in.SequenceLengthVariation, r.percent),
		}, {
			Long: "sequence-id-range", Arg: "START[:END]",
			Help: "range of correlation ids, END not included. By default redline profile uses a random range, so that concurrent " +
				"runs do not use equal ids; perf_analyzer counts from 1",
			To: option.Func(r.setSequenceIDs),
		}, {
			Long: "num-of-sequences", Arg: "N",
			Help: "open loop: number of sequences at once",
			To:   option.Int(&in.Sequences, 1),
		}, {
			Long: "serial-sequences",
			Help: "open loop: send the next request of a sequence only after the response to the previous one",
			To:   option.Switch(&in.SerialSequences),
		},
	})
}

func (r *raw) setSequenceLength(v string) error {
	in := &r.plan.Input
	in.SequenceLengthSet = true
	n, err := strconv.Atoi(v)
	if err == nil && n <= 0 && r.compat {
		r.warn("--sequence-length " + v + " is not above 0: the default is used")
		return nil
	}
	if err != nil || n <= 0 {
		return fmt.Errorf("is a number above 0, not %q", v)
	}
	in.SequenceLength = n
	return nil
}

func (r *raw) setSequenceIDs(v string) error {
	first, end, given := strings.Cut(v, ":")
	start, err := strconv.Atoi(first)
	if err != nil || start < 0 {
		return fmt.Errorf("is START:END, such as 1:1000, not %q", v)
	}
	if start == 0 {
		if !r.compat {
			return errors.New("starts at 1 or above: 0 is no correlation id")
		}
		r.warn("--sequence-id-range starts at 1: 0 is no correlation id")
	}
	r.startID = max(start, 1)
	if !given {
		return nil
	}
	last, err := strconv.Atoi(end)
	switch {
	case err != nil:
		return fmt.Errorf("is START:END, such as 1:1000, not %q", v)
	case last < start:
		return errors.New("ends below its start: write the lower number first")
	}
	r.plan.Input.SequenceIDRange = uint64(last - start)
	return nil
}
