package tfserving_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // so that the server understands compressed requests
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/tfserving"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/tfserving"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2/h2test"
)

// fake is a server on grpc-go. Its model gives back its inputs.
type fake struct {
	pb.UnimplementedPredictionServiceServer
	addr    string
	inputs  map[string]*pb.TensorInfo
	predict func(*pb.PredictRequest) (*pb.PredictResponse, error)
	seen    atomic.Pointer[pb.PredictRequest]
	asked   *pb.GetModelMetadataRequest
	key     atomic.Value
}

func startFake(t testing.TB, f *fake) *fake {
	t.Helper()
	ln := testkit.Listen(t, "127.0.0.1:0")
	f.addr = ln.Addr().String()
	srv := grpc.NewServer()
	pb.RegisterPredictionServiceServer(srv, f)
	testkit.ServeGRPC(t, srv, ln)
	return f
}

func (f *fake) GetModelMetadata(_ context.Context, r *pb.GetModelMetadataRequest) (*pb.GetModelMetadataResponse, error) {
	f.asked = r
	if r.GetModelSpec().GetName() == "none" {
		return nil, status.Error(codes.NotFound, "Servable not found for request: Latest(none)")
	}
	field, err := anypb.New(&pb.SignatureDefMap{SignatureDef: map[string]*pb.SignatureDef{
		"serving_default": {Inputs: f.inputs, Outputs: map[string]*pb.TensorInfo{"out": info(pb.DataType_DT_INT32, -1, 2)}},
	}})
	return &pb.GetModelMetadataResponse{Metadata: map[string]*anypb.Any{"signature_def": field}}, err
}

func (f *fake) Predict(ctx context.Context, r *pb.PredictRequest) (*pb.PredictResponse, error) {
	f.seen.Store(r)
	md, _ := metadata.FromIncomingContext(ctx)
	f.key.Store(strings.Join(md.Get("x-key"), ","))
	if f.predict != nil {
		return f.predict(r)
	}
	return &pb.PredictResponse{Outputs: r.GetInputs(), ModelSpec: r.GetModelSpec()}, nil
}

func shape(dims ...int64) *pb.TensorShapeProto {
	s := &pb.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim, &pb.TensorShapeProto_Dim{Size: d})
	}
	return s
}

func info(t pb.DataType, dims ...int64) *pb.TensorInfo {
	return &pb.TensorInfo{Dtype: t, TensorShape: shape(dims...)}
}

// sink gathers what becomes of one call at a time.
type sink struct {
	tr    service.Transport
	left  int
	done  chan struct{}
	calls []*service.Call
	last  []byte
}

func (s *sink) Response(_ *service.Call, payload []byte, _ int64, _ bool) {
	s.last = append(s.last[:0], payload...)
}

func (s *sink) Done(c *service.Call) {
	if s.left--; s.left <= 0 {
		s.done <- struct{}{}
		return
	}
	s.tr.Send(c)
}

// run makes n calls one after another.
func (s *sink) run(n int) *service.Call {
	s.left = n
	s.tr.Send(s.calls[0])
	s.tr.Flush()
	<-s.done
	return s.calls[0]
}

func open(t testing.TB, target plan.Target, in service.Inputs) (*tfserving.Service, *sink) {
	t.Helper()
	target.Model, target.SignatureName = "m", "serving_default"
	svc, err := tfserving.New(target, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	req, err := svc.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{done: make(chan struct{}, 1), calls: []*service.Call{{Req: req}}}
	if s.tr, err = svc.Open(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.tr.Close()
		_ = svc.Close()
	})
	if err := s.tr.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return svc, s
}

func TestDescribe(t *testing.T) {
	f := startFake(t, &fake{})
	test := func(batch int, inputs map[string]*pb.TensorInfo, want ...service.TensorSpec) {
		t.Helper()
		f.inputs = inputs
		svc, err := tfserving.New(plan.Target{URL: f.addr, Model: "m", Version: "stable", SignatureName: "serving_default"},
			plan.Input{Batch: batch, BatchSet: batch > 0})
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		m, err := svc.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.Inputs); diff != "" || m.MaxBatch != batch || len(m.Outputs) != 1 {
			t.Errorf("%+v (-want +got):\n%s", m, diff)
		}
		asked := &pb.GetModelMetadataRequest{
			ModelSpec:     &pb.ModelSpec{Name: "m", VersionChoice: &pb.ModelSpec_VersionLabel{VersionLabel: "stable"}},
			MetadataField: []string{"signature_def"},
		}
		if diff := cmp.Diff(asked, f.asked, protocmp.Transform()); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
	two := map[string]*pb.TensorInfo{"b": info(pb.DataType_DT_STRING, -1), "a": info(pb.DataType_DT_HALF, -1, 4)}
	test(0, two, service.TensorSpec{Name: "a", Type: tensor.FP16, Shape: tensor.Shape{-1, 4}}, service.TensorSpec{Name: "b", Type: tensor.Bytes, Shape: tensor.Shape{-1}})
	test(8, two, service.TensorSpec{Name: "a", Type: tensor.FP16, Shape: tensor.Shape{4}}, service.TensorSpec{Name: "b", Type: tensor.Bytes, Shape: tensor.Shape{}})
	test(0, map[string]*pb.TensorInfo{"x": {Dtype: pb.DataType_DT_INT64, TensorShape: &pb.TensorShapeProto{UnknownRank: true}}},
		service.TensorSpec{Name: "x", Type: tensor.Int64, Shape: tensor.Shape{-1}})
}

func TestDescribeFails(t *testing.T) {
	f := startFake(t, &fake{})
	test := func(model, signature string, batch int, input *pb.TensorInfo, op, want string) {
		t.Helper()
		f.inputs = map[string]*pb.TensorInfo{"x": input}
		svc, err := tfserving.New(plan.Target{URL: f.addr, Model: model, SignatureName: signature}, plan.Input{Batch: batch, BatchSet: batch > 0})
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		_, err = svc.Describe(t.Context())
		var e *service.Error
		if !errors.As(err, &e) || e.Op != op || e.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	good, unknown := info(pb.DataType_DT_INT32, -1), &pb.TensorInfo{Dtype: pb.DataType_DT_INT32, TensorShape: &pb.TensorShapeProto{UnknownRank: true}}
	test("none", "serving_default", 0, good, "model metadata", "Servable not found for request: Latest(none)")
	test("m", "other", 0, good, "model parser", service.NoSignature.With("other").Error())
	test("m", "serving_default", 1, unknown, "model parser", string(service.BatchUnknownRank))
	test("m", "serving_default", 1, info(pb.DataType_DT_INT32, 2), "model parser", string(service.BatchFixedSize))
	test("m", "serving_default", 1, info(pb.DataType_DT_INT32), "model parser", string(service.BatchFixedSize))
	test("m", "serving_default", 0, info(pb.DataType_DT_COMPLEX64, -1), "model parser", "tensor x has the datatype DT_COMPLEX64, which cannot be sent")
}

// Every datatype goes out in its own list and comes back as the same bytes.
func TestDatatypes(t *testing.T) {
	f := startFake(t, &fake{})
	le := binary.LittleEndian
	test := func(dt tensor.Datatype, data []byte, want *pb.TensorProto) {
		t.Helper()
		want.TensorShape = shape(2)
		in := tensor.Tensor{Name: "x", Type: dt, Shape: tensor.Shape{2}, Data: data}
		for _, compression := range []string{"none", "gzip"} {
			svc, s := open(t, plan.Target{URL: f.addr, Compression: compression, Headers: []plan.Header{{Name: "X-Key", Value: "v"}}},
				service.Inputs{Tensors: []tensor.Tensor{in}, Expect: []tensor.Tensor{in}})
			if c := s.run(2); c.Err != nil || c.Rec.Responses != 1 {
				t.Fatalf("%s: %v: %+v", dt, c.Err, c.Rec)
			}
			if diff := cmp.Diff(want, f.seen.Load().GetInputs()["x"], protocmp.Transform()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", dt, diff)
			}
			out, err := svc.Outputs(s.last)
			if diff := cmp.Diff([]tensor.Tensor{in}, out); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", dt, err, diff)
			}
		}
	}
	test(tensor.Bool, []byte{1, 0}, &pb.TensorProto{Dtype: pb.DataType_DT_BOOL, BoolVal: []bool{true, false}})
	test(tensor.Uint8, []byte{1, 255}, &pb.TensorProto{Dtype: pb.DataType_DT_UINT8, IntVal: []int32{1, 255}})
	test(tensor.Int8, []byte{1, 255}, &pb.TensorProto{Dtype: pb.DataType_DT_INT8, IntVal: []int32{1, -1}})
	test(tensor.Uint16, []byte{1, 0, 255, 255}, &pb.TensorProto{Dtype: pb.DataType_DT_UINT16, IntVal: []int32{1, 65535}})
	test(tensor.Int16, []byte{1, 0, 255, 255}, &pb.TensorProto{Dtype: pb.DataType_DT_INT16, IntVal: []int32{1, -1}})
	test(tensor.FP16, []byte{0, 0x3c, 0, 0xbc}, &pb.TensorProto{Dtype: pb.DataType_DT_HALF, HalfVal: []int32{0x3c00, 0xbc00}})
	test(tensor.BF16, []byte{0x80, 0x3f, 0x80, 0xbf}, &pb.TensorProto{Dtype: pb.DataType_DT_BFLOAT16, HalfVal: []int32{0x3f80, 0xbf80}})
	four := le.AppendUint32(le.AppendUint32(nil, 1), 1<<32-2)
	test(tensor.Int32, four, &pb.TensorProto{Dtype: pb.DataType_DT_INT32, IntVal: []int32{1, -2}})
	test(tensor.Uint32, four, &pb.TensorProto{Dtype: pb.DataType_DT_UINT32, Uint32Val: []uint32{1, 1<<32 - 2}})
	test(tensor.FP32, le.AppendUint32(le.AppendUint32(nil, 0x3f800000), 0xc0000000), &pb.TensorProto{Dtype: pb.DataType_DT_FLOAT, FloatVal: []float32{1, -2}})
	eight := le.AppendUint64(le.AppendUint64(nil, 1), 1<<64-2)
	test(tensor.Int64, eight, &pb.TensorProto{Dtype: pb.DataType_DT_INT64, Int64Val: []int64{1, -2}})
	test(tensor.Uint64, eight, &pb.TensorProto{Dtype: pb.DataType_DT_UINT64, Uint64Val: []uint64{1, 1<<64 - 2}})
	test(tensor.FP64, le.AppendUint64(le.AppendUint64(nil, 0x3ff0000000000000), 0xc000000000000000), &pb.TensorProto{Dtype: pb.DataType_DT_DOUBLE, DoubleVal: []float64{1, -2}})
	test(tensor.Bytes, tensor.AppendElement(tensor.AppendElement(nil, ""), "a\xff"), &pb.TensorProto{Dtype: pb.DataType_DT_STRING, StringVal: [][]byte{{}, []byte("a\xff")}})
	if f.key.Load() != "v" {
		t.Errorf("the header came as %q", f.key.Load())
	}
	spec := &pb.ModelSpec{Name: "m", SignatureName: "serving_default"}
	if diff := cmp.Diff(spec, f.seen.Load().GetModelSpec(), protocmp.Transform()); diff != "" {
		t.Errorf("model (-want +got):\n%s", diff)
	}
}

func ints(name string, values ...uint32) tensor.Tensor {
	t := tensor.Tensor{Name: name, Type: tensor.Int32, Shape: tensor.Shape{int64(len(values))}}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, v)
	}
	return t
}

func TestAnswers(t *testing.T) {
	f := startFake(t, &fake{})
	var answer *pb.PredictResponse
	var fail error
	f.predict = func(*pb.PredictRequest) (*pb.PredictResponse, error) { return answer, fail }
	test := func(p *pb.TensorProto, err error, class record.Class, want string) {
		t.Helper()
		answer, fail = &pb.PredictResponse{}, err
		if p != nil {
			answer.Outputs = map[string]*pb.TensorProto{"out": p}
		}
		_, s := open(t, plan.Target{URL: f.addr}, service.Inputs{Tensors: []tensor.Tensor{ints("x", 1)}, Expect: []tensor.Tensor{ints("out", 7, 7)}})
		c := s.run(1)
		if c.Rec.Class != class || want != "" && (c.Err == nil || c.Err.Error() != want) {
			t.Errorf("%v: %v, want %q", c.Rec.Class, c.Err, want)
		}
	}
	i32 := pb.DataType_DT_INT32
	test(&pb.TensorProto{Dtype: i32, TensorShape: shape(2), IntVal: []int32{7, 7}}, nil, record.OK, "")
	test(&pb.TensorProto{Dtype: i32, TensorShape: shape(2), IntVal: []int32{7}}, nil, record.OK, "") // one stands for all
	test(&pb.TensorProto{Dtype: i32, TensorShape: shape(2), TensorContent: []byte{7, 0, 0, 0, 7, 0, 0, 0}}, nil, record.OK, "")
	test(&pb.TensorProto{Dtype: i32, TensorShape: shape(2), IntVal: []int32{7, 8}}, nil, record.Mismatch, string(service.OutputDiffers))
	test(&pb.TensorProto{Dtype: i32, TensorShape: shape(2), TensorContent: []byte{7}}, nil, record.Protocol, "the answer is not a valid PredictResponse")
	test(&pb.TensorProto{Dtype: i32, TensorShape: shape(3), IntVal: []int32{7, 7}}, nil, record.Protocol, "the answer is not a valid PredictResponse")
	test(&pb.TensorProto{Dtype: pb.DataType_DT_VARIANT}, nil, record.Protocol, "the answer is not a valid PredictResponse")
	test(nil, nil, record.Protocol, "the answer holds no outputs")
	test(nil, status.Error(codes.InvalidArgument, "no such input"), record.Server, "no such input")
}

// hot is a server that has no time to look at requests, and calls to it.
func hot(t testing.TB) *sink {
	t.Helper()
	answer, err := proto.Marshal(&pb.PredictResponse{Outputs: map[string]*pb.TensorProto{
		"out": {Dtype: pb.DataType_DT_INT32, TensorShape: shape(2), IntVal: []int32{1, 2}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, s := open(t, plan.Target{URL: h2test.Start(t, answer).Addr()}, service.Inputs{Tensors: []tensor.Tensor{ints("x", 1, 2)}})
	s.run(500)
	return s
}

func BenchmarkCalls(b *testing.B) {
	s := hot(b)
	b.ReportAllocs()
	b.ResetTimer()
	s.run(b.N)
}

func TestCallsDoNotAllocate(t *testing.T) {
	s := hot(t)
	const n = 3000
	testkit.FewAllocs(t, n, func() {
		if c := s.run(n); c.Err != nil {
			t.Fatal(c.Err)
		}
	})
}

func FuzzOutputs(f *testing.F) {
	good, err := proto.Marshal(&pb.PredictResponse{Outputs: map[string]*pb.TensorProto{
		"a": {Dtype: pb.DataType_DT_HALF, TensorShape: shape(2, 2), HalfVal: []int32{1}},
		"b": {Dtype: pb.DataType_DT_STRING, TensorShape: shape(1), StringVal: [][]byte{{1}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{0x0a, 0x00})
	svc, err := tfserving.New(plan.Target{URL: "127.0.0.1:1"}, plan.Input{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := svc.Outputs(b)
		for _, o := range out {
			if want := tensor.ByteSize(o.Type, o.Shape); err == nil && want >= 0 && want != int64(len(o.Data)) {
				t.Errorf("%s of shape %s has %d bytes", o.Type, o.Shape, len(o.Data))
			}
		}
	})
}
