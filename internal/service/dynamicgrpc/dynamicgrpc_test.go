package dynamicgrpc_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/dynamicgrpc"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2/h2test"
)

// writeMessages makes a file of framed messages and returns the command that writes it out.
func writeMessages(t testing.TB, list ...string) string {
	t.Helper()
	var b []byte
	for _, m := range list {
		b = append(binary.NativeEndian.AppendUint32(b, uint32(len(m))), m...)
	}
	path := filepath.Join(t.TempDir(), "messages")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return "cat '" + path + "'"
}

func TestGeneratedMessages(t *testing.T) {
	big := strings.Repeat("0123456789", 30_000) // more than a frame, a window, and the first read
	want := []string{"one", "", big, "four"}
	for _, compression := range []string{"", "gzip", "none"} {
		f := startFake(t, grpc.MaxRecvMsgSize(1<<24))
		svc := newOpaque(t, plan.Target{
			URL: f.addr, GRPCMethod: "v1.Simple/Echo", Compression: compression, Headers: []plan.Header{{Name: "X-Key", Value: "v"}},
		})
		d := open(t, svc, command(writeMessages(t, want...)), 4)
		answers := 0
		d.onRsp = func(payload []byte) {
			if len(payload) > 0 {
				t.Error("opaque messages: the end of a stream counts, and no message is shown")
			}
			answers++
		}
		d.onEnd = func(c *service.Call) {
			r := &c.Rec
			if c.Err != nil || r.Responses != 1 || r.Sent == 0 || r.Written < r.Sent || r.First < r.Written || r.End < r.First || r.In < uint64(len(big)) {
				t.Errorf("%v: %+v", c.Err, *r)
			}
		}
		d.run(8)
		if answers != 8 {
			t.Errorf("%d responses, want 8", answers)
		}
		var got []string
		for _, m := range f.seen {
			got = append(got, string(m))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("compression %q: the server saw (-want +got):\n%s", compression, diff)
		}
		if v := f.md.Get("x-key"); len(v) != 1 || v[0] != "v" {
			t.Errorf("the header came as %q", v)
		}
	}
}

func TestKindsOfMethods(t *testing.T) {
	f := startFake(t)
	test := func(method, data string, want ...string) {
		t.Helper()
		svc := newService(t, plan.Target{URL: f.addr, GRPCMethod: "v1.Simple/" + method, Protos: simpleProto(t)})
		d := open(t, svc, messages(data), 1)
		var got []string
		d.onRsp = func(payload []byte) { got = append(got, string(payload)) }
		d.run(1)
		if c := d.calls[0]; c.Err != nil || int(c.Rec.Responses) != len(want) {
			t.Errorf("%s: %v, %d responses", method, c.Err, c.Rec.Responses)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", method, diff)
		}
	}
	test("Unary", `{"message": "ab"}`, "\x0a\x02ab")
	test("Unary", `[{"message": "ab", "numbers": ["7", 8]}]`, "\x0a\x02ab\x12\x02\x07\x08")
	test("Collect", `[{"message": "a"}, {}, {"message": "c"}]`, "\x0a\x013")
	test("Split", `{"message": "x"}`, "\x0a", "\x01", "x")
	test("Echo", `[{"message": "a"}, {}]`, "\x0a\x01a", "")
}

// A stream that ends well without a message is an answer all the same.
func TestSilence(t *testing.T) {
	f := startFake(t)
	svc := newService(t, plan.Target{URL: f.addr, GRPCMethod: "v1.Simple/Silent"})
	d := open(t, svc, command(writeMessages(t, "a")), 1)
	d.run(3)
	if c := d.calls[0]; c.Err != nil || c.Rec.Responses != 1 {
		t.Errorf("%v: %+v", c.Err, c.Rec)
	}
}

// Responses cannot be compared with expected ones: calls with opaque messages fail, others are refused before the load.
func TestExpectedAnswers(t *testing.T) {
	f := startFake(t)
	target := plan.Target{URL: f.addr, GRPCMethod: "v1.Simple/Echo"}
	in := command(writeMessages(t, "a"))
	in.Expect = []tensor.Tensor{{Name: dynamicgrpc.Response, Type: tensor.JSON, Shape: tensor.Shape{1}, Data: []byte(`"x"`)}}
	d := open(t, newOpaque(t, target), in, 1)
	d.run(1)
	if c := d.calls[0]; c.Rec.Class != record.Mismatch || c.Err == nil || c.Err.Error() != string(service.OutputSize) {
		t.Errorf("%v: %+v", c.Err, c.Rec)
	}
	if _, err := newService(t, target).Prepare(in); err == nil || !strings.Contains(err.Error(), "validation_data") {
		t.Errorf("got %v", err)
	}
}

func TestStatus(t *testing.T) {
	f := startFake(t)
	test := func(method string, code int, want string) {
		t.Helper()
		svc := newOpaque(t, plan.Target{URL: f.addr, GRPCMethod: method})
		d := open(t, svc, command(writeMessages(t, "a")), 1)
		d.run(1)
		c := d.calls[0]
		var e *service.Error
		if !errors.As(c.Err, &e) || c.Rec.Class != record.Server || e.Code != code || e.Text != want {
			t.Errorf("%s: %v: %+v", method, c.Err, e)
		}
	}
	test("v1.Simple/NoSuch", 12, "v1.Simple/NoSuch ended with status Unimplemented: unknown method")
	test("v1.Simple/Broken", 15, "v1.Simple/Broken ended with status DataLoss: half of it is gone")

	// perf_analyzer runs without a method and measures the refusals.
	svc := newOpaque(t, plan.Target{URL: f.addr})
	d := open(t, svc, command(writeMessages(t, "a")), 1)
	d.run(1)
	if c := d.calls[0]; c.Err != nil || c.Rec.Responses != 1 {
		t.Errorf("without a method: %v: %+v", c.Err, c.Rec)
	}
}

// With LazyDial the first request reports that a server is down; without it, Grow does.
func TestServerDown(t *testing.T) {
	in := command(writeMessages(t, "a"))
	target := plan.Target{URL: "127.0.0.1:1", GRPCMethod: "v1.Simple/Echo"}
	d := open(t, newOpaque(t, target), in, 2)
	d.run(6)
	for _, c := range d.calls {
		if c.Rec.Class != record.Connect {
			t.Errorf("%v: %v", c.Rec.Class, c.Err)
		}
	}
	svc := newService(t, target)
	tr, err := svc.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tr.Close() }()
	var e *service.Error
	if err := tr.Grow(t.Context(), 1); !errors.As(err, &e) || e.Class != record.Connect {
		t.Errorf("Grow: %v", err)
	}
}

func TestWrongData(t *testing.T) {
	f := startFake(t)
	test := func(target plan.Target, in service.Inputs, want string) {
		t.Helper()
		target.URL = f.addr
		_, err := newService(t, target).Prepare(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	unary := plan.Target{GRPCMethod: "v1.Simple/Unary", Protos: simpleProto(t)}
	test(unary, service.Inputs{}, `step 0 of the input data holds no message`)
	test(unary, messages(`[]`), `step 0 of the input data holds no message`)
	test(unary, messages(`[{}, {}]`), "v1.Simple/Unary takes one message a call, but step 0 of the input data holds 2")
	test(unary, messages(`{"massage": "a"}`), `{"massage": "a"} is not a v1.Text: `)
	test(unary, messages(`[{}, 7]`), "message 1: 7 is not a v1.Text")
	test(plan.Target{GRPCMethod: "v1.Simple/Unary"}, messages(`{}`), "does not describe itself (no gRPC reflection): name the .proto file of v1.Simple with --proto")
}

func TestWrongProto(t *testing.T) {
	const hint = "; correct the file or its path, or omit --proto if the server has gRPC reflection"
	test := func(method, path, want string) {
		t.Helper()
		svc, err := dynamicgrpc.New(plan.Target{URL: "127.0.0.1:1", GRPCMethod: method, Protos: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = svc.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %q", err, want)
		}
	}
	simple := simpleProto(t)[0]
	test("v1.Simple/Nothing", simple, "service v1.Simple has no method Nothing: it has Unary, Collect, Split, Echo, Pack")
	test("v1.Other/Unary", simple, "no service v1.Other in "+simple)
	test("v1.Text/Unary", simple, "v1.Text is not a service")
	test("v1.Simple/Unary", "nothing.proto", "--proto nothing.proto: no file nothing.proto in . or a folder above"+hint)

	dir := t.TempDir()
	path := filepath.Join(dir, "x.proto")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("syntax = \"proto3\";\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("loop.proto", `import "x.proto";`)
	broken := func(text, want string) {
		t.Helper()
		write("x.proto", text)
		test("v1.Simple/Unary", path, "--proto "+path+": "+want)
	}
	broken("message {", "x.proto:2:9: syntax error: unexpected '{'"+hint)
	broken("message A {\n  int32 x = 1;\n", "x.proto:4:1: syntax error: unexpected end of file"+hint)
	broken("message A { Missing x = 1; }", "x.proto:2:13: field A.x: unknown type Missing"+hint)
	broken("message A { int32 x = 1; int32 y = 1; }", "x.proto:2:36: message A: fields x and y both have the same tag 1"+hint)
	broken("import \"nothing.proto\";", "x.proto:2:8: no file nothing.proto in "+dir+" or a folder above"+hint)
	broken("import \"google/protobuf/type.proto\";\nmessage A { google.protobuf.Any a = 1; }", "x.proto:3:13: field A.a: unknown type google.protobuf.Any"+hint)
	broken(strings.Repeat("message A { ", 40)+strings.Repeat("}", 40), "x.proto:2:373: message nesting depth must be less than 32"+hint)
	broken("import \"loop.proto\";", "") // which of the two files is named depends on which is read first
}

func TestCallsDoNotAllocate(t *testing.T) {
	for _, compression := range []string{"", "gzip"} {
		svc := newOpaque(t, plan.Target{URL: h2test.Start(t, []byte("answer")).Addr(), GRPCMethod: "v1.Simple/Echo", Compression: compression})
		d := open(t, svc, command(writeMessages(t, "one", "two", "three")), 8)
		d.onEnd = func(c *service.Call) {
			if c.Rec.Class != record.OK {
				t.Errorf("a call ended with %v", c.Err)
			}
		}
		d.run(2000)
		const n = 5000
		testkit.FewAllocs(t, n, func() { d.run(n) })
	}
}

func BenchmarkCalls(b *testing.B) {
	svc := newOpaque(b, plan.Target{URL: h2test.Start(b, []byte("answer")).Addr(), GRPCMethod: "v1.Simple/Echo"})
	d := open(b, svc, command(writeMessages(b, "one", "two", "three")), 8)
	d.run(1000)
	b.ReportAllocs()
	b.ResetTimer()
	d.run(max(b.N, 8))
}
