package sidebyside_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// request is one HTTP request and, where the responses may differ, why.
type request struct {
	name    string
	method  string // POST where empty
	path    string // /v2/models/simple/infer where empty
	body    string
	binary  string // behind the JSON, with its header
	headers map[string]string
	why     string // a good response may differ for this reason; the status may not
}

// The pieces of a good request for the model simple.
const (
	sixteen = `[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]`
	first   = `{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":` + sixteen + `}`
	second  = `{"name":"INPUT1","shape":[1,16],"datatype":"INT32","data":` + sixteen + `}`
	good    = `{"inputs":[` + first + `,` + second + `]}`
)

// with is a request for simple whose first input is this.
func with(input string) string { return `{"inputs":[` + input + `,` + second + `]}` }

// asking is a good request with more members.
func asking(members string) string {
	return `{"inputs":[` + first + `,` + second + `],` + members + `}`
}

// step is a request of a sequence.
func step(parameters string) string {
	return `{"inputs":[{"name":"INPUT","shape":[1,1],"datatype":"INT32","data":[1]}],"parameters":{` + parameters + `}}`
}

// raw is a first input whose data follow the JSON.
func raw(size string) string {
	return with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","parameters":{"binary_data_size":` + size + `}}`)
}

const (
	anyInfer   = "/v2/models/simple/infer"
	accumulate = "/v2/models/accumulate/infer"
	words      = "/v2/models/identity_string/infer"
	kinds      = "/v2/models/types/infer"
	zeros64    = "0000000000000000000000000000000000000000000000000000000000000000"
)

var inferCases = []request{
	{name: "good", body: good},
	{name: "unknown model", path: "/v2/models/nobody/infer", body: good},
	{name: "unknown version", path: "/v2/models/simple/versions/7/infer", body: good},
	{name: "version that is no number", path: "/v2/models/simple/versions/new/infer", body: good},
	{name: "wrong method", method: http.MethodGet},
	{name: "unknown verb", path: "/v2/models/simple/think", body: good},
	{name: "unknown path", path: "/v3"},
	{name: "no body"},
	{name: "broken JSON", body: `{"inputs":[`},
	{name: "JSON with a tail", body: good + "x"},
	{name: "a list", body: `[1]`},
	{name: "a number", body: `17`},
	{name: "no inputs", body: `{}`},
	{name: "empty inputs", body: `{"inputs":[]}`},
	{name: "inputs are no list", body: `{"inputs":7}`},
	{name: "id is no text", body: asking(`"id":7`)},
	{name: "input without name", body: with(`{"shape":[1,16],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "input without datatype", body: with(`{"name":"INPUT0","shape":[1,16],"data":` + sixteen + `}`)},
	{name: "input without shape", body: with(`{"name":"INPUT0","datatype":"INT32","data":` + sixteen + `}`)},
	{name: "input without data", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32"}`)},
	{name: "name is no text", body: with(`{"name":5,"shape":[1,16],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "datatype is no text", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":3,"data":` + sixteen + `}`)},
	{name: "shape is no list", body: with(`{"name":"INPUT0","shape":16,"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "shape of texts", body: with(`{"name":"INPUT0","shape":["1","16"],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "negative shape", body: with(`{"name":"INPUT0","shape":[1,-16],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "free shape", body: with(`{"name":"INPUT0","shape":[1,-1],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "unknown datatype", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT33","data":` + sixteen + `}`)},
	{name: "wrong datatype", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"FP32","data":` + sixteen + `}`)},
	{name: "wrong shape", body: with(`{"name":"INPUT0","shape":[1,8],"datatype":"INT32","data":[0,1,2,3,4,5,6,7]}`)},
	{name: "wrong rank", body: with(`{"name":"INPUT0","shape":[1,4,4],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "no batch", body: with(`{"name":"INPUT0","shape":[16],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "no shape at all", body: with(`{"name":"INPUT0","shape":[],"datatype":"INT32","data":[1]}`)},
	{name: "batches differ", body: with(`{"name":"INPUT0","shape":[2,8],"datatype":"INT32","data":` + sixteen + `}`)},
	{name: "batch too large", path: "/v2/models/identity_fp32/infer", body: `{"inputs":[{"name":"INPUT0","shape":[9,1],"datatype":"FP32","data":[1,2,3,4,5,6,7,8,9]}]}`},
	{name: "batch of none", path: "/v2/models/identity_fp32/infer", body: `{"inputs":[{"name":"INPUT0","shape":[0,1],"datatype":"FP32","data":[]}]}`},
	{name: "missing input", body: `{"inputs":[` + first + `]}`},
	{name: "extra input", body: `{"inputs":[` + first + `,` + second + `,{"name":"INPUT2","shape":[1],"datatype":"INT32","data":[1]}]}`},
	{name: "strange input", body: `{"inputs":[` + first + `,{"name":"INPUT9","shape":[1,16],"datatype":"INT32","data":` + sixteen + `}]}`},
	{name: "input twice", body: `{"inputs":[` + first + `,` + first + `]}`},
	{name: "too few elements", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":[1,2,3]}`)},
	{name: "too many elements", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}`)},
	{name: "data is no list", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":5}`)},
	{name: "texts for integers", body: with(`{"name":"INPUT0","shape":[1,1],"datatype":"INT32","data":["1"]}`)},
	{name: "fractions for integers", body: with(`{"name":"INPUT0","shape":[1,1],"datatype":"INT32","data":[1.5]}`)},
	{name: "integers out of range", body: with(`{"name":"INPUT0","shape":[1,1],"datatype":"INT32","data":[18446744073709551616]}`)},
	{name: "numbers for texts", path: words, body: `{"inputs":[{"name":"INPUT0","shape":[1,1],"datatype":"BYTES","data":[7]}]}`},
	{name: "numbers for truth", path: kinds, body: `{"inputs":[{"name":"FLAG","shape":[1,2],"datatype":"BOOL","data":[1,0]}]}`},
	{name: "negative for unsigned", path: kinds, body: `{"inputs":[{"name":"COUNT","shape":[1,2],"datatype":"UINT16","data":[-1,0]}]}`},
	{name: "half floats in JSON", path: kinds, body: `{"inputs":[{"name":"HALF","shape":[1,2],"datatype":"FP16","data":[1,2]}]}`},
	{name: "unknown output", body: asking(`"outputs":[{"name":"OUTPUT7"}]`)},
	{name: "output without name", body: asking(`"outputs":[{}]`)},
	{name: "outputs are no list", body: asking(`"outputs":3`)},
	{name: "output name is no text", body: asking(`"outputs":[{"name":3}]`)},
	{name: "output binary_data is no truth", body: asking(`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":1}}]`)},
	{name: "unknown region for input", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","parameters":{"shared_memory_region":"no","shared_memory_byte_size":64}}`)},
	{name: "unknown region for output", body: asking(`"outputs":[{"name":"OUTPUT0","parameters":{"shared_memory_region":"no","shared_memory_byte_size":64}}]`)},
	{name: "region and data", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":` + sixteen + `,"parameters":{"shared_memory_region":"no","shared_memory_byte_size":64}}`)},
	{name: "region and binary", body: asking(`"outputs":[{"name":"OUTPUT0","parameters":{"shared_memory_region":"no","binary_data":true}}]`)},
	{name: "decoupled", path: "/v2/models/repeat/infer", body: `{"inputs":[]}`},
	{name: "reserved parameter", body: asking(`"parameters":{"triton_mine":1}`)},
	{name: "parameter is a list", body: asking(`"parameters":{"mine":[1]}`)},
	{name: "free parameters", body: asking(`"parameters":{"mine":1,"yours":"x","ours":true}`)},
	{name: "negative priority", body: asking(`"parameters":{"priority":-1}`)},
	{name: "timeout is no number", body: asking(`"parameters":{"timeout":"soon"}`)},
	{name: "binary_data_output is no truth", body: asking(`"parameters":{"binary_data_output":3}`)},
	{name: "unknown packing", body: good, headers: map[string]string{"Content-Encoding": "br"}},
}

var binaryCases = []request{
	{name: "good", body: raw("64"), binary: zeros64},
	{name: "size too small", body: raw("60"), binary: zeros64},
	{name: "size larger than the body", body: raw("68"), binary: zeros64},
	{name: "body far too large", body: raw("64"), binary: zeros64 + strings.Repeat("x", 1<<20)},
	{
		name: "oversize body", binary: strings.Repeat("\x00", 80<<20),
		body: with(`{"name":"INPUT0","shape":[1,20971520],"datatype":"INT32","parameters":{"binary_data_size":83886080}}`),
	},
	{name: "no bytes", body: raw("64"), headers: map[string]string{headerLength: strconv.Itoa(len(raw("64")))}},
	{name: "negative size", body: raw("-4"), binary: zeros64},
	{name: "size is no number", body: raw(`"64"`), binary: zeros64},
	{name: "size and data", body: with(`{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":[1],"parameters":{"binary_data_size":64}}`), binary: zeros64},
	{name: "header length too large", body: good, headers: map[string]string{headerLength: "99999"}},
	{name: "header length negative", body: good, headers: map[string]string{headerLength: "-1"}},
	{name: "header length is no number", body: good, headers: map[string]string{headerLength: "x"}},
	{name: "header length cuts the JSON", body: good, headers: map[string]string{headerLength: "20"}},
	{name: "raw body for two inputs", body: zeros64, headers: map[string]string{headerLength: "0"}},
	{name: "text without a length", path: words, body: `{"inputs":[{"name":"INPUT0","shape":[1,1],"datatype":"BYTES","parameters":{"binary_data_size":2}}]}`, binary: "ab"},
	{name: "text shorter than its length", path: words, body: `{"inputs":[{"name":"INPUT0","shape":[1,1],"datatype":"BYTES","parameters":{"binary_data_size":6}}]}`, binary: "\x09\x00\x00\x00ab"},
	{name: "more texts than the shape", path: words, body: `{"inputs":[{"name":"INPUT0","shape":[1,1],"datatype":"BYTES","parameters":{"binary_data_size":10}}]}`, binary: "\x01\x00\x00\x00a\x01\x00\x00\x00b"},
	{name: "fewer texts than the shape", path: words, body: `{"inputs":[{"name":"INPUT0","shape":[1,2],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`, binary: "\x01\x00\x00\x00a"},
}

var sequenceCases = []request{
	{name: "no id", path: accumulate, body: step(``)},
	{name: "id of nought", path: accumulate, body: step(`"sequence_id":0,"sequence_start":true`)},
	{name: "empty id", path: accumulate, body: step(`"sequence_id":"","sequence_start":true`)},
	{name: "no start", path: accumulate, body: step(`"sequence_id":41`)},
	{name: "no start, by name", path: accumulate, body: step(`"sequence_id":"lost"`)},
	{name: "end without start", path: accumulate, body: step(`"sequence_id":42,"sequence_end":true`)},
	{name: "start and end", path: accumulate, body: step(`"sequence_id":43,"sequence_start":true,"sequence_end":true`)},
	{name: "after the end", path: accumulate, body: step(`"sequence_id":43`)},
	{name: "start is no truth", path: accumulate, body: step(`"sequence_id":44,"sequence_start":1`)},
	{name: "end is no truth", path: accumulate, body: step(`"sequence_id":44,"sequence_end":"yes"`)},
	{name: "negative id", path: accumulate, body: step(`"sequence_id":-4,"sequence_start":true`)},
	{name: "id is a fraction", path: accumulate, body: step(`"sequence_id":4.5,"sequence_start":true`)},
	{name: "id where there are no sequences", body: asking(`"parameters":{"sequence_id":5}`)},
	{name: "two steps at once", path: accumulate, body: `{"inputs":[{"name":"INPUT","shape":[2,1],"datatype":"INT32","data":[1,2]}],"parameters":{"sequence_id":45,"sequence_start":true}}`},
}

var adminCases = []request{
	{name: "metadata of an unknown model", method: http.MethodGet, path: "/v2/models/nobody"},
	{name: "config of an unknown model", method: http.MethodGet, path: "/v2/models/nobody/config"},
	{name: "ready of an unknown model", method: http.MethodGet, path: "/v2/models/nobody/ready"},
	{name: "statistics of an unknown model", method: http.MethodGet, path: "/v2/models/nobody/stats"},
	{name: "statistics of an unknown version", method: http.MethodGet, path: "/v2/models/simple/versions/9/stats"},
	{name: "metadata by POST", path: "/v2/models/simple"},
	{name: "health by POST", path: "/v2/health/live"},
	{name: "unknown health", method: http.MethodGet, path: "/v2/health/mood"},
	{name: "load where the models are fixed", path: "/v2/repository/models/simple/load"},
	{name: "unload where the models are fixed", path: "/v2/repository/models/simple/unload"},
	{name: "load by GET", method: http.MethodGet, path: "/v2/repository/models/simple/load"},
	{name: "index by GET", method: http.MethodGet, path: "/v2/repository/index"},
	{name: "index with broken JSON", path: "/v2/repository/index", body: "{"},
	{name: "register without name", path: "/v2/systemsharedmemory/register", body: `{"key":"/a","byte_size":4}`},
	{name: "register without key", path: "/v2/systemsharedmemory/region/r/register", body: `{"byte_size":4}`},
	{name: "register without size", path: "/v2/systemsharedmemory/region/r/register", body: `{"key":"/a"}`},
	{name: "register an unknown key", path: "/v2/systemsharedmemory/region/r/register", body: `{"key":"/redline_nobody","byte_size":4}`},
	{name: "register with broken JSON", path: "/v2/systemsharedmemory/region/r/register", body: `{`},
	{name: "status of an unknown region", method: http.MethodGet, path: "/v2/systemsharedmemory/region/r/status"},
	{name: "unregister an unknown region", path: "/v2/systemsharedmemory/region/r/unregister"},
	{name: "trace of an unknown level", path: "/v2/trace/setting", body: `{"trace_level":["LOUD"]}`, why: "each answers with the name of its own trace file"},
	{name: "trace rate is no number", path: "/v2/trace/setting", body: `{"trace_rate":"often"}`},
	{name: "trace to another file", path: "/v2/trace/setting", body: `{"trace_file":"/tmp/x"}`},
	{name: "generate on an unknown model", path: "/v2/models/nobody/generate", body: `{}`},
	{name: "generate with broken JSON", path: "/v2/models/identity_string/generate", body: `{`},
	{name: "generate with a list", path: "/v2/models/identity_string/generate", body: `[]`},
	{name: "generate", path: "/v2/models/identity_string/generate", body: `{"INPUT0":"hello"}`},
	{name: "generate without input", path: "/v2/models/identity_string/generate", body: `{}`},
	{name: "generate with a wrong type", path: "/v2/models/identity_fp32/generate", body: `{"INPUT0":"hello"}`},
	{name: "generate with a null", path: "/v2/models/identity_string/generate", body: `{"INPUT0":"a","more":null}`},
	{name: "generate by GET", method: http.MethodGet, path: "/v2/models/identity_string/generate"},
	{name: "generate stream on an unknown model", path: "/v2/models/nobody/generate_stream", body: `{}`},
	{name: "generate stream", path: "/v2/models/repeat/generate_stream", body: `{"IN":[4,5],"DELAY":[0,0]}`},
	{name: "generate with several answers", path: "/v2/models/repeat/generate", body: `{"IN":[4,5],"DELAY":[0,0]}`},
	{name: "generate with no answer", path: "/v2/models/repeat/generate", body: `{"IN":[],"DELAY":[]}`},
}

func TestHTTP(t *testing.T) {
	var all []question
	for _, group := range []struct {
		name  string
		cases []request
	}{{"infer", inferCases}, {"binary", binaryCases}, {"sequence", sequenceCases}, {"admin", adminCases}} {
		for _, c := range group.cases {
			all = append(all, question{group.name + "/" + c.name, c.why, func(ctx context.Context, http, _ string) answer { return c.send(ctx, http) }})
		}
	}
	compare(t, all)
}

const headerLength = "Inference-Header-Content-Length"

// send returns the status and the body: the text of an error where it is one.
func (c request) send(ctx context.Context, address string) answer {
	req, err := http.NewRequestWithContext(ctx, cmp.Or(c.method, http.MethodPost), "http://"+address+cmp.Or(c.path, anyInfer), strings.NewReader(c.body+c.binary))
	if err != nil {
		return answer{status: "not sent", text: err.Error()}
	}
	if c.binary != "" {
		req.Header.Set(headerLength, strconv.Itoa(len(c.body)))
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{status: "no answer", text: err.Error()}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{status: "half an answer", text: err.Error()}
	}
	var failure struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &failure) == nil && failure.Error != "" {
		return answer{status: strconv.Itoa(resp.StatusCode), text: failure.Error}
	}
	return answer{strconv.Itoa(resp.StatusCode), string(body), resp.StatusCode == http.StatusOK}
}
