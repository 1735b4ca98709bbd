package rest

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// rendered is the bytes of one send.
func rendered(t *testing.T, s *Service, in service.Inputs, v service.Vars) string {
	t.Helper()
	r, err := s.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, size := r.(*request).render(new([]byte), &v)
	all := string(head) + string(rest)
	if _, body, _ := strings.Cut(all, "\r\n\r\n"); len(body) != size {
		t.Errorf("a body of %d bytes is said to have %d", len(body), size)
	}
	return all
}

// TestRequestBytes holds the requests against those of Triton's C++ client, byte for byte.
func TestRequestBytes(t *testing.T) {
	const (
		tensors = `"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},` +
			`{"name":"INPUT1","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}],` +
			`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1","parameters":{"binary_data":true}}]}`
		start = "POST /v2/models/simple/infer HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nUser-Agent: libcurl-agent/1.0\r\nAccept: */*\r\n"
		typed = "\r\nContent-Type: application/octet-stream\r\n"
	)
	ones, twos := strings.Repeat("\x01", 64), strings.Repeat("\x02", 64)
	in := simpleInputs()
	in.Tensors[0].Data, in.Tensors[1].Data = []byte(twos), []byte(ones) // INPUT1 comes first here, and second on the wire

	f := func(name string, tg plan.Target, v service.Vars, want string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want+ones+twos, rendered(t, newService(t, tg, plan.Input{}), in, v)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	base := target("127.0.0.1:8000")
	base.LibcurlAgent = true
	f("synchronous", base, service.Vars{},
		start+"Inference-Header-Content-Length: 316"+typed+"Content-Length: 444\r\n\r\n"+`{"id":"",`+tensors)
	f("id 0", base, service.Vars{HasID: true},
		start+"Inference-Header-Content-Length: 317"+typed+"Content-Length: 445\r\n\r\n"+`{"id":"0",`+tensors)
	f("id of the second thread", base, service.Vars{HasID: true, ID: 1<<48 | 5},
		start+"Inference-Header-Content-Length: 331"+typed+"Content-Length: 459\r\n\r\n"+`{"id":"281474976710661",`+tensors)
	f("sequence", base, service.Vars{SeqID: 7, Start: true, Present: true},
		start+"Inference-Header-Content-Length: 390"+typed+"Content-Length: 518\r\n\r\n"+
			`{"id":"","parameters":{"sequence_id":7,"sequence_start":true,"sequence_end":false},`+tensors)
	f("sequence by name", base, service.Vars{SeqID: 7, SeqName: `a "b"`, End: true, Present: true},
		start+"Inference-Header-Content-Length: 398"+typed+"Content-Length: 526\r\n\r\n"+
			`{"id":"","parameters":{"sequence_id":"a \"b\"","sequence_start":false,"sequence_end":true},`+tensors)
	f("longest", base, service.Vars{HasID: true, ID: math.MaxUint64, SeqID: math.MaxUint64, End: true, Present: true},
		start+"Inference-Header-Content-Length: 429"+typed+"Content-Length: 557\r\n\r\n"+
			`{"id":"18446744073709551615","parameters":{"sequence_id":18446744073709551615,"sequence_start":false,"sequence_end":true},`+tensors)

	users := base
	users.Version, users.URL = "3", "http://127.0.0.1:8000/gate/way/"
	users.Headers = []plan.Header{{Name: "X-One", Value: " two spaces"}, {Name: "accept", Value: "a/b"}, {Name: "Host", Value: "other"}, {Name: "X-Empty"}}
	f("headers, version, base path", users, service.Vars{},
		"POST /gate/way/v2/models/simple/versions/3/infer HTTP/1.1\r\nHost: other\r\nUser-Agent: libcurl-agent/1.0\r\n"+
			"Inference-Header-Content-Length: 316"+typed+"X-One:  two spaces\r\naccept: a/b\r\nContent-Length: 444\r\n\r\n"+`{"id":"",`+tensors)
}

func TestRequestJSON(t *testing.T) {
	in := service.Inputs{
		Outputs: []string{"OUT"},
		Tensors: []tensor.Tensor{
			{Name: "S", Type: tensor.Bytes, Shape: tensor.Shape{2}, Data: []byte("\x01\x00\x00\x00a\x02\x00\x00\x00\"b")},
			{Name: "F", Type: tensor.FP32, Shape: tensor.Shape{2}, Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}},
		},
	}
	s := newService(t, target("h:1"), plan.Input{InputFormat: plan.JSONTensors, OutputFormat: plan.JSONTensors})
	got := rendered(t, s, in, service.Vars{})
	const body = `{"id":"","inputs":[{"name":"F","datatype":"FP32","shape":[2],"data":[1.0,2.0]},{"name":"S","datatype":"BYTES","shape":[2],"data":["a","\"b"]}],` +
		`"outputs":[{"name":"OUT","parameters":{"binary_data":false}}]}`
	if !strings.HasSuffix(got, "\r\n\r\n"+body) || !strings.Contains(got, "Content-Type: application/json\r\n") || !strings.Contains(got, headerLength+": 205\r\n") {
		t.Errorf("got %q", got)
	}
	for _, bad := range []tensor.Tensor{
		{Name: "H", Type: tensor.FP16, Shape: tensor.Shape{1}, Data: []byte{0, 0}},
		{Name: "B", Type: tensor.BF16, Shape: tensor.Shape{1}, Data: []byte{0, 0}},
		{Name: "N", Type: tensor.Bytes, Shape: tensor.Shape{1}, Data: []byte("\x01\x00\x00\x00\xff")},
		{Name: "T", Type: tensor.Int32, Shape: tensor.Shape{1}, Data: []byte{1}},
	} {
		if _, err := s.Prepare(service.Inputs{Tensors: []tensor.Tensor{bad}}); err == nil {
			t.Errorf("%s: no error", bad.Name)
		} else if bad.Name == "H" && err.Error() != service.NoJSONForm.With("FP16").Error() {
			t.Error(err)
		}
	}
}

// TestLargeRequest: a large fixed part is written from where it lies.
func TestLargeRequest(t *testing.T) {
	in := simpleInputs()
	in.Tensors[0].Data = make([]byte, 1<<20)
	r, err := newService(t, target("h:1"), plan.Input{}).Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	q := r.(*request)
	head, body, _ := q.render(new([]byte), &service.Vars{HasID: true, ID: 12})
	if len(head) > 1000 || &body[0] != &q.fixed[len(q.fixed)-len(body)] {
		t.Errorf("a head of %d bytes, and a body of its own", len(head))
	}
	if fixed, none, _ := q.render(new([]byte), &service.Vars{}); none != nil || &fixed[0] != &q.fixed[0] || !bytes.HasSuffix(fixed, body) {
		t.Error("a request without variables is not the fixed bytes")
	}
}

func TestBadTargets(t *testing.T) {
	for name, tg := range map[string]plan.Target{
		"empty":     {},
		"scheme":    {URL: "ftp://x:1"},
		"no host":   {URL: ":8000"},
		"newline":   {URL: "h:1", Headers: []plan.Header{{Name: "A", Value: "b\r\nC: d"}}},
		"bad name":  {URL: "h:1", Headers: []plan.Header{{Name: "A B", Value: "c"}}},
		"no name":   {URL: "h:1", Headers: []plan.Header{{Value: "c"}}},
		"length":    {URL: "h:1", Headers: []plan.Header{{Name: "content-Length", Value: "3"}}},
		"no CA":     {URL: "https://h:1", TLS: plan.TLS{CAFile: "/does/not/exist"}},
		"no client": {URL: "https://h:1", TLS: plan.TLS{CertFile: "/does/not/exist"}},
	} {
		if _, err := New(tg, plan.Input{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
