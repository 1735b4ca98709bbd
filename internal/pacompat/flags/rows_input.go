package flags

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
)

func (r *raw) inputRows() []option.Row {
	in := &r.plan.Input
	return option.Group("Input data", []option.Row{
		{
			Short: 'b', Word: "batch-size", Arg: "N",
			Help: "batch size of each request. Throughput counts inferences: a request of batch size 8 counts eight times",
			To:   integer(1, "-b (batch size). The value must be > 0.", &in.Batch),
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
			To:   integer(1, "--string-length. The value must be > 0", &in.StringLength),
		}, {
			Long: "string-data", Arg: "TEXT",
			Help: "send this text as every string instead of random strings",
			To:   option.Text(&in.StringData),
		}, {
			Long: "input-tensor-format", Arg: "FORMAT", Default: cmp.Or(string(in.InputFormat), tensorFormats),
			Help: "HTTP: send tensors as bytes (binary) or as text (json)",
			To:   tensorFormat("--input-tensor-format", &in.InputFormat),
		}, {
			Long: "output-tensor-format", Arg: "FORMAT", Default: cmp.Or(string(in.OutputFormat), tensorFormats),
			Help: "HTTP: request outputs as bytes (binary) or as text (json)",
			To:   tensorFormat("--output-tensor-format", &in.OutputFormat),
		}, {
			Long: "shared-memory", Arg: "KIND",
			Help: "pass tensors through memory that is shared with a server on the same machine, instead of the network: system for " +
				"main memory, cuda for GPU memory",
			To: choice("--shared-memory", "The available options are 'system', 'cuda', or 'none'.",
				&in.SharedMemory, plan.NoSharedMemory, plan.SystemSharedMemory, plan.CUDASharedMemory),
		}, {
			Long: "output-shared-memory-size", Arg: "SIZE",
			Help: "size of the shared memory region of an output with variable size",
			To: r.bytes("--output-shared-memory-size. The value must be >= 0.",
				&in.OutputRegionSize),
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
		return failed("--input-data. Unsupported type provided: '"+v+"'. The available options are 'zero', 'random', path to a directory, or a json file.",
			"there is no file or folder "+v+" for --input-data, which also takes zero and random")
	}
	return nil
}

// addShape splits at the last colon: names of inputs may hold one.
func (r *raw) addShape(v string) error {
	if r.face == plan.Redline {
		return r.plan.Input.AppendShape(v)
	}
	i := strings.LastIndexByte(v, ':')
	if i < 0 {
		return failed("--shape. There must be a colon after input name.", "")
	}
	var dims []int64
	for part := range strings.SplitSeq(v[i+1:], ",") {
		d, err := cxx.Stoll(part)
		if err = r.lenient(whole(part, cxx.AfterInt(part), err)); err != nil {
			return err
		}
		if d <= 0 {
			return failed("--shape. The dimensions of input tensor must be > 0.", "")
		}
		dims = append(dims, d)
	}
	if r.plan.Input.Shapes == nil {
		r.plan.Input.Shapes = map[string][]int64{}
	}
	r.plan.Input.Shapes[v[:i]] = dims
	return nil
}

// tensorFormats is the default of the tensor formats in words.
const tensorFormats = "binary if the server lists that extension, else json"

// tensorFormat takes binary or json, in any case.
func tensorFormat(name string, to *plan.TensorFormat) option.Value {
	v := choice(name, "The available options are 'binary' or 'json'.", to, plan.BinaryTensors, plan.JSONTensors)
	return option.Func(func(text string) error { return v.Set(strings.ToLower(text)) }).Of(v.Words...)
}

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
			To:   integer(1, "--num-of-sequences. The value must be > 0.", &in.Sequences),
		}, {
			Long: "serial-sequences",
			Help: "open loop: send the next request of a sequence only after the response to the previous one",
			To:   option.Switch(&in.SerialSequences),
		},
	})
}

func (r *raw) setSequenceLength(v string) error {
	n, err := cxx.Stoi(v)
	if err = r.lenient(whole(v, cxx.AfterInt(v), err)); err != nil {
		return err
	}
	in := &r.plan.Input
	in.SequenceLengthSet = true
	if n <= 0 {
		if r.face == plan.Redline {
			return fmt.Errorf("is a number above 0, not %q", v)
		}
		r.warn("WARNING: The sequence length must be > 0. Perf Analyzer will use default value if it is measuring on sequence model.")
		return nil
	}
	in.SequenceLength = n
	return nil
}

func (r *raw) setSequenceIDs(v string) error {
	const name = "--sequence-id-range"
	parts := strings.Split(v, ":")
	if len(parts) > 2 {
		return failed(name+". The value does not match <start:end>.", name+" is START:END, such as 1:1000")
	}
	ids := make([]int, len(parts))
	for i, part := range parts {
		n, err := cxx.Stoi(part)
		if err = r.lenient(whole(part, cxx.AfterInt(part), err)); err != nil {
			return err
		}
		if n < 0 {
			return failed(name+". The range values must be >= 0.", "")
		}
		ids[i] = n
	}
	r.startID = ids[0]
	if len(ids) == 1 {
		return nil
	}
	if ids[0] > ids[1] {
		return failed(name+". The 'end' value must be greater than 'start' value.", name+" ends below its start: write the lower number first")
	}
	r.plan.Input.SequenceIDRange = uint64(ids[1] - ids[0])
	return nil
}
