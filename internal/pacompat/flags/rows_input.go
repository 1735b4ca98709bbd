package flags

import (
	"os"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
)

func inputRows() []Row {
	return []Row{
		{
			Short: 'b', Arg: "N", Section: Input, Default: "1",
			Help: "Batch size of each request. Throughput counts inferences: a request of batch size 8 counts eight times.",
			set: func(r *raw, v string) error {
				r.plan.Input.BatchSet = true
				return integer(1, "Failed to parse -b (batch size). The value must be > 0.",
					func(r *raw) *int { return &r.plan.Input.Batch })(r, v)
			},
		}, {
			Long: "input-data", Arg: "zero|random|PATH", Section: Input, Repeat: true, Default: "random",
			Hint: Hint{Files: true, Values: []string{"zero", "random"}},
			Help: "Source of the input tensors: zeros, random values, a directory with one file for each input, or JSON files, " +
				"which may also contain the expected outputs.",
			set: setInputData,
		}, {
			Long: "shape", Arg: "NAME:D1,D2,...", Section: Input, Repeat: true,
			Help: "Shape of an input with variable dimensions.",
			set:  addShape,
		}, {
			Long: "string-length", Arg: "N", Section: Input, Default: "128", Unit: "characters",
			Help: "Length of random strings.",
			set: integer(1, "Failed to parse --string-length. The value must be > 0",
				func(r *raw) *int { return &r.plan.Input.StringLength }),
		}, {
			Long: "string-data", Arg: "TEXT", Section: Input,
			Help: "Send this text as every string instead of random strings.",
			set:  text(func(r *raw) *string { return &r.plan.Input.StringData }),
		}, {
			Long: "input-tensor-format", Arg: "FORMAT", Section: Input, Default: "binary", Hint: values("binary", "json"),
			Help: "HTTP: send tensors as bytes (binary) or as text (json). Use json for servers without the binary extension.",
			set:  tensorFormat("--input-tensor-format", func(r *raw) *bool { return &r.plan.Input.InputJSON }),
		}, {
			Long: "output-tensor-format", Arg: "FORMAT", Section: Input, Default: "binary", Hint: values("binary", "json"),
			Help: "HTTP: request outputs as bytes (binary) or as text (json).",
			set: func(r *raw, v string) error {
				r.outputFormatSet = true
				return tensorFormat("--output-tensor-format", func(r *raw) *bool { return &r.plan.Input.OutputJSON })(r, v)
			},
		}, {
			Long: "shared-memory", Arg: "KIND", Section: Input, Default: "none", Hint: values("none", "system", "cuda"),
			Help: "Pass tensors through memory that is shared with a server on the same machine, instead of the network: system for " +
				"main memory, cuda for GPU memory.",
			set: choice("--shared-memory", "The available options are 'system', 'cuda', or 'none'.",
				func(r *raw) *plan.SharedMemory { return &r.plan.Input.SharedMemory },
				plan.NoSharedMemory, plan.SystemSharedMemory, plan.CUDASharedMemory),
		}, {
			Long: "output-shared-memory-size", Arg: "N", Section: Input, Default: "102400", Unit: "bytes",
			Help: "Size of the shared memory region of an output with variable size.",
			set: integer(0, "Failed to parse --output-shared-memory-size. The value must be >= 0.",
				func(r *raw) *int { return &r.plan.Input.OutputRegionSize }),
		},
	}
}

// setInputData tries the value as a path first, so that a file may be named "zero".
func setInputData(r *raw, v string) error {
	if _, err := os.Stat(v); err == nil {
		r.paths = append(r.paths, v)
		return nil
	}
	switch v {
	case "zero":
		r.zero = true
	case "random":
	default:
		if r.face == plan.Redline {
			return usagef("there is no file or folder %s for --input-data, which also takes zero and random", v)
		}
		return usagef("Failed to parse --input-data. Unsupported type provided: '%s'. "+
			"The available options are 'zero', 'random', path to a directory, or a json file.", v)
	}
	return nil
}

// addShape splits at the last colon: names of inputs may hold one.
func addShape(r *raw, v string) error {
	i := strings.LastIndexByte(v, ':')
	if i < 0 {
		return usagef("Failed to parse --shape. There must be a colon after input name.")
	}
	var dims []int64
	for part := range strings.SplitSeq(v[i+1:], ",") {
		d, err := cxx.Stoll(part)
		if err != nil {
			return err
		}
		if d <= 0 {
			return usagef("Failed to parse --shape. The dimensions of input tensor must be > 0.")
		}
		dims = append(dims, d)
	}
	if r.plan.Input.Shapes == nil {
		r.plan.Input.Shapes = map[string][]int64{}
	}
	r.plan.Input.Shapes[v[:i]] = dims
	return nil
}

func tensorFormat(name string, dst func(*raw) *bool) func(*raw, string) error {
	words := []string{"binary", "json"}
	return func(r *raw, v string) error {
		word := strings.ToLower(v)
		if !slices.Contains(words, word) {
			return unsupported(r, name, v, "The available options are 'binary' or 'json'.", words)
		}
		*dst(r) = word == "json"
		return nil
	}
}

func sequenceRows() []Row {
	return []Row{
		{
			Long: "sequence-length", Arg: "N", Section: Sequences, Default: "20", Unit: "requests",
			Help: "Length of a sequence: the number of requests that share a correlation id.",
			set:  setSequenceLength,
		}, {
			Long: "sequence-length-variation", Arg: "PCT", Section: Sequences, Default: "20", Unit: "%",
			Help: "Variation of --sequence-length, so that sequences do not all end at once.",
			set: func(r *raw, v string) (err error) {
				r.plan.Input.SequenceLengthVariation, err = finite(v)
				return err
			},
		}, {
			Long: "sequence-id-range", Arg: "START[:END]", Section: Sequences,
			Help: "Range of correlation ids, END not included. By default redline profile uses a random range, so that concurrent " +
				"runs do not use equal ids; perf_analyzer counts from 1.",
			set: setSequenceIDs,
		}, {
			Long: "num-of-sequences", Arg: "N", Section: Sequences, Default: "4",
			Help: "Open loop: number of sequences at once.",
			set: integer(1, "Failed to parse --num-of-sequences. The value must be > 0.",
				func(r *raw) *int { return &r.plan.Input.Sequences }),
		}, {
			Long: "serial-sequences", Section: Sequences,
			Help: "Open loop: send the next request of a sequence only after the response to the previous one.",
			set:  flag(func(r *raw) *bool { return &r.plan.Input.SerialSequences }),
		},
	}
}

func setSequenceLength(r *raw, v string) error {
	n, err := cxx.Stoi(v)
	if err != nil {
		return err
	}
	in := &r.plan.Input
	in.SequenceLengthSet = true
	if n <= 0 {
		r.warn("WARNING: The sequence length must be > 0. Perf Analyzer will use default value if it is measuring on sequence model.")
		return nil
	}
	in.SequenceLength = n
	return nil
}

func setSequenceIDs(r *raw, v string) error {
	const failed = "Failed to parse --sequence-id-range. "
	parts := strings.Split(v, ":")
	if len(parts) > 2 {
		return usagef(failed + "The value does not match <start:end>.")
	}
	ids := make([]int, len(parts))
	for i, part := range parts {
		n, err := cxx.Stoi(part)
		if err != nil {
			return err
		}
		if n < 0 {
			return usagef(failed + "The range values must be >= 0.")
		}
		ids[i] = n
	}
	r.startID, r.idsSet = ids[0], true
	if len(ids) == 1 {
		return nil
	}
	if ids[0] > ids[1] {
		return usagef(failed + "The 'end' value must be greater than 'start' value.")
	}
	r.plan.Input.SequenceIDRange = uint64(ids[1] - ids[0])
	return nil
}
