package sidebyside_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

type (
	input  = pb.ModelInferRequest_InferInputTensor
	output = pb.ModelInferRequest_InferRequestedOutputTensor
)

// call is one request of ModelInfer: a good one for the model simple, spoiled.
type call struct {
	name  string
	spoil func(r *pb.ModelInferRequest)
}

func number(v int64) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: v}}
}

func truth(v bool) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: v}}
}

func text(v string) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: v}}
}

type parameters = map[string]*pb.InferParameter

// goodCall is a request that the model simple answers.
func goodCall() *pb.ModelInferRequest {
	r := &pb.ModelInferRequest{ModelName: "simple"}
	for i := range 2 {
		r.Inputs = append(r.Inputs, &input{Name: fmt.Sprintf("INPUT%d", i), Datatype: "INT32", Shape: []int64{1, 16}})
		r.RawInputContents = append(r.RawInputContents, make([]byte, 64))
	}
	return r
}

// spoilSequence makes it a step of the accumulating model.
func spoilSequence(p parameters) func(*pb.ModelInferRequest) {
	return func(r *pb.ModelInferRequest) {
		r.ModelName, r.Parameters = "accumulate", p
		r.Inputs = []*input{{Name: "INPUT", Datatype: "INT32", Shape: []int64{1, 1}}}
		r.RawInputContents = [][]byte{{1, 0, 0, 0}}
	}
}

func spoilParameters(p parameters) func(*pb.ModelInferRequest) {
	return func(r *pb.ModelInferRequest) { r.Parameters = p }
}

var calls = []call{
	{name: "good", spoil: func(*pb.ModelInferRequest) {}},
	{name: "no model", spoil: func(r *pb.ModelInferRequest) { r.ModelName = "" }},
	{name: "unknown model", spoil: func(r *pb.ModelInferRequest) { r.ModelName = "nobody" }},
	{name: "unknown version", spoil: func(r *pb.ModelInferRequest) { r.ModelVersion = "7" }},
	{name: "version that is no number", spoil: func(r *pb.ModelInferRequest) { r.ModelVersion = "new" }},
	{name: "negative version", spoil: func(r *pb.ModelInferRequest) { r.ModelVersion = "-3" }},
	{name: "wrong shape", spoil: func(r *pb.ModelInferRequest) {
		r.Inputs[0].Shape, r.RawInputContents[0] = []int64{1, 15}, make([]byte, 60)
	}},
	{name: "wrong rank", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = []int64{1, 4, 4} }},
	{name: "negative shape", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = []int64{1, -16} }},
	{name: "free shape", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = []int64{1, -1} }},
	{name: "no shape", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = nil }},
	{name: "huge shape", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = []int64{1, 1 << 62} }},
	{name: "wrong datatype", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Datatype = "FP32" }},
	{name: "unknown datatype", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Datatype = "INT33" }},
	{name: "no datatype", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Datatype = "" }},
	{name: "missing input", spoil: func(r *pb.ModelInferRequest) { r.Inputs, r.RawInputContents = r.Inputs[:1], r.RawInputContents[:1] }},
	{name: "no inputs", spoil: func(r *pb.ModelInferRequest) { r.Inputs, r.RawInputContents = nil, nil }},
	{name: "extra input", spoil: func(r *pb.ModelInferRequest) {
		r.Inputs = append(r.Inputs, &input{Name: "INPUT2", Datatype: "INT32", Shape: []int64{1, 1}})
		r.RawInputContents = append(r.RawInputContents, make([]byte, 4))
	}},
	{name: "strange input", spoil: func(r *pb.ModelInferRequest) { r.Inputs[1].Name = "INPUT9" }},
	{name: "input twice", spoil: func(r *pb.ModelInferRequest) { r.Inputs[1].Name = "INPUT0" }},
	{name: "oversize message", spoil: func(r *pb.ModelInferRequest) {
		r.Inputs[0].Shape, r.RawInputContents[0] = []int64{1, 20 << 20}, make([]byte, 80<<20)
	}},
	{name: "batch too large", spoil: func(r *pb.ModelInferRequest) {
		for i := range r.Inputs {
			r.Inputs[i].Shape, r.RawInputContents[i] = []int64{9, 16}, make([]byte, 9*64)
		}
	}},
	{name: "batches differ", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Shape = []int64{2, 16} }},
	{name: "bytes too few", spoil: func(r *pb.ModelInferRequest) { r.RawInputContents[0] = make([]byte, 60) }},
	{name: "bytes too many", spoil: func(r *pb.ModelInferRequest) { r.RawInputContents[0] = make([]byte, 68) }},
	{name: "far too many bytes", spoil: func(r *pb.ModelInferRequest) { r.RawInputContents[0] = make([]byte, 8<<20) }},
	{name: "no data", spoil: func(r *pb.ModelInferRequest) { r.RawInputContents = nil }},
	{name: "data for one", spoil: func(r *pb.ModelInferRequest) { r.RawInputContents = r.RawInputContents[:1] }},
	{name: "data for three", spoil: func(r *pb.ModelInferRequest) { r.RawInputContents = append(r.RawInputContents, []byte{1}) }},
	{name: "typed and raw", spoil: func(r *pb.ModelInferRequest) { r.Inputs[0].Contents = &pb.InferTensorContents{IntContents: []int32{1}} }},
	{name: "typed wrongly", spoil: func(r *pb.ModelInferRequest) {
		r.RawInputContents = nil
		r.Inputs[0].Contents = &pb.InferTensorContents{Fp32Contents: make([]float32, 16)}
		r.Inputs[1].Contents = &pb.InferTensorContents{IntContents: make([]int32, 16)}
	}},
	{name: "typed, too few", spoil: func(r *pb.ModelInferRequest) {
		r.RawInputContents = nil
		for i := range r.Inputs {
			r.Inputs[i].Contents = &pb.InferTensorContents{IntContents: make([]int32, 7)}
		}
	}},
	{name: "unknown output", spoil: func(r *pb.ModelInferRequest) { r.Outputs = []*output{{Name: "OUTPUT9"}} }},
	{name: "output without name", spoil: func(r *pb.ModelInferRequest) { r.Outputs = []*output{{}} }},
	{name: "unknown region for input", spoil: func(r *pb.ModelInferRequest) {
		r.Inputs[0].Parameters = parameters{"shared_memory_region": text("no"), "shared_memory_byte_size": number(64)}
		r.RawInputContents = r.RawInputContents[:1]
	}},
	{name: "unknown region for output", spoil: func(r *pb.ModelInferRequest) {
		r.Outputs = []*output{{Name: "OUTPUT0", Parameters: parameters{"shared_memory_region": text("no"), "shared_memory_byte_size": number(64)}}}
	}},
	{name: "decoupled", spoil: func(r *pb.ModelInferRequest) { r.ModelName = "repeat" }},
	{name: "reserved parameter", spoil: spoilParameters(parameters{"triton_mine": number(1)})},
	{name: "priority is no number", spoil: spoilParameters(parameters{"priority": text("high")})},
	{name: "timeout is no number", spoil: spoilParameters(parameters{"timeout": text("soon")})},
	{name: "free parameters", spoil: spoilParameters(parameters{"mine": number(1), "yours": text("x"), "ours": truth(true)})},
	{name: "parameter of no kind", spoil: spoilParameters(parameters{"mine": {}})},
	{name: "sequence: no id", spoil: spoilSequence(nil)},
	{name: "sequence: id of nought", spoil: spoilSequence(parameters{"sequence_id": number(0), "sequence_start": truth(true)})},
	{name: "sequence: no start", spoil: spoilSequence(parameters{"sequence_id": number(61)})},
	{name: "sequence: no start, by name", spoil: spoilSequence(parameters{"sequence_id": text("lost")})},
	{name: "sequence: end without start", spoil: spoilSequence(parameters{"sequence_id": number(62), "sequence_end": truth(true)})},
	{name: "sequence: start and end", spoil: spoilSequence(parameters{"sequence_id": number(63), "sequence_start": truth(true), "sequence_end": truth(true)})},
	{name: "sequence: after the end", spoil: spoilSequence(parameters{"sequence_id": number(63)})},
	{name: "sequence: id is a truth", spoil: spoilSequence(parameters{"sequence_id": truth(true)})},
	{name: "sequence: start is a number", spoil: spoilSequence(parameters{"sequence_id": number(64), "sequence_start": number(1)})},
	{name: "sequence: end is a text", spoil: spoilSequence(parameters{"sequence_id": number(64), "sequence_end": text("yes")})},
}

// others are the calls that are no inference.
var others = []struct {
	name string
	do   func(ctx context.Context, c pb.GRPCInferenceServiceClient) error
}{
	{"metadata of an unknown model", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: "nobody"})
		return err
	}},
	{"config of an unknown model", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.ModelConfig(ctx, &pb.ModelConfigRequest{Name: "nobody"})
		return err
	}},
	{"ready of an unknown model", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.ModelReady(ctx, &pb.ModelReadyRequest{Name: "nobody"})
		return err
	}},
	{"statistics of an unknown model", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.ModelStatistics(ctx, &pb.ModelStatisticsRequest{Name: "nobody"})
		return err
	}},
	{"load where the models are fixed", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelLoad(ctx, &pb.RepositoryModelLoadRequest{ModelName: "simple"})
		return err
	}},
	{"unload where the models are fixed", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelUnload(ctx, &pb.RepositoryModelUnloadRequest{ModelName: "simple"})
		return err
	}},
	{"load in a named repository", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.RepositoryModelLoad(ctx, &pb.RepositoryModelLoadRequest{RepositoryName: "mine", ModelName: "simple"})
		return err
	}},
	{"register an unknown key", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.SystemSharedMemoryRegister(ctx, &pb.SystemSharedMemoryRegisterRequest{Name: "r", Key: "/redline_nobody", ByteSize: 4})
		return err
	}},
	{"status of an unknown region", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.SystemSharedMemoryStatus(ctx, &pb.SystemSharedMemoryStatusRequest{Name: "r"})
		return err
	}},
	{"unregister an unknown region", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.SystemSharedMemoryUnregister(ctx, &pb.SystemSharedMemoryUnregisterRequest{Name: "r"})
		return err
	}},
	{"trace of an unknown level", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.TraceSetting(ctx, &pb.TraceSettingRequest{Settings: map[string]*pb.TraceSettingRequest_SettingValue{"trace_level": {Value: []string{"LOUD"}}}})
		return err
	}},
	{"trace rates", func(ctx context.Context, c pb.GRPCInferenceServiceClient) error {
		_, err := c.TraceSetting(ctx, &pb.TraceSettingRequest{Settings: map[string]*pb.TraceSettingRequest_SettingValue{"trace_rate": {Value: []string{"1", "2"}}}})
		return err
	}},
}

func TestGRPC(t *testing.T) {
	clients := &clients{known: map[string]pb.GRPCInferenceServiceClient{}}
	t.Cleanup(clients.close)
	var all []question
	add := func(name string, do func(context.Context, pb.GRPCInferenceServiceClient) error) {
		all = append(all, question{name, "", func(ctx context.Context, _, grpc string) answer {
			client, err := clients.of(grpc)
			if err != nil {
				return answer{status: "no client", text: err.Error()}
			}
			s := status.Convert(do(ctx, client))
			return answer{status: s.Code().String(), text: s.Message()}
		}})
	}
	for _, c := range calls {
		add(c.name, func(ctx context.Context, client pb.GRPCInferenceServiceClient) error {
			r := goodCall()
			c.spoil(r)
			_, err := client.ModelInfer(ctx, r)
			return err
		})
		// In a stream the error is part of the response.
		add("stream/"+c.name, func(ctx context.Context, client pb.GRPCInferenceServiceClient) error {
			r := goodCall()
			c.spoil(r)
			return overStream(ctx, client, r)
		})
	}
	for _, o := range others {
		add(o.name, o.do)
	}
	compare(t, all)
}

// clients has one connection to each server.
type clients struct {
	known map[string]pb.GRPCInferenceServiceClient
	conns []*grpc.ClientConn
}

// of is the client of an address.
func (c *clients) of(address string) (pb.GRPCInferenceServiceClient, error) {
	if client, ok := c.known[address]; ok {
		return client, nil
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	c.conns, c.known[address] = append(c.conns, conn), pb.NewGRPCInferenceServiceClient(conn)
	return c.known[address], nil
}

func (c *clients) close() {
	for _, conn := range c.conns {
		_ = conn.Close() // the test is over
	}
}

// overStream sends one request in a stream and returns the error within the response, or that of the stream.
func overStream(ctx context.Context, client pb.GRPCInferenceServiceClient, r *pb.ModelInferRequest) error {
	stream, err := client.ModelStreamInfer(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(r); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	answer, err := stream.Recv()
	if err != nil {
		return fmt.Errorf("the stream ended: %w", err)
	}
	if answer.GetErrorMessage() != "" {
		return fmt.Errorf("%s (id %q, final %v)", answer.GetErrorMessage(), answer.GetInferResponse().GetId(), answer.GetInferResponse().GetParameters()["triton_final_response"])
	}
	return nil
}
