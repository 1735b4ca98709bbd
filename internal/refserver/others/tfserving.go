// Package others serves the APIs of TensorFlow Serving, over gRPC, and of TorchServe.
package others

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	pb "github.com/redline-bench/redline/internal/proto/tfserving"
	"github.com/redline-bench/redline/internal/refserver/fault"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

const signature = "serving_default"

// Config is what the servers are made of.
type Config struct {
	Models *model.Repository
	Log    *reqlog.Log
	Faults *fault.Set
	Clock  *pause.Clock
	Delay  time.Duration // of TorchServe, from the arrival of a request to its response
}

// tensorflow serves the models: Predict, the metadata of their signature, and their status. Every model that sends one response has the
// signature serving_default.
type tensorflow struct {
	pb.UnimplementedPredictionServiceServer
	pb.UnimplementedModelServiceServer
	Config
}

// TensorFlow adds the services to a gRPC server.
func (c Config) TensorFlow(s *grpc.Server) {
	srv := &tensorflow{Config: c}
	pb.RegisterPredictionServiceServer(s, srv)
	pb.RegisterModelServiceServer(s, srv)
}

// find looks up the model of a spec. A label is used as the version.
func (s *tensorflow) find(spec *pb.ModelSpec) (*model.Model, error) {
	version := spec.GetVersionLabel()
	if v := spec.GetVersion(); v != nil {
		version = strconv.FormatInt(v.GetValue(), 10)
	}
	m, err := s.Models.Get(spec.GetName(), version)
	if err != nil {
		return nil, status.Errorf(codes.NotFound, "Servable not found for request: %s %s", spec.GetName(), cmp.Or(version, "latest"))
	}
	if m.Decoupled() {
		return nil, status.Errorf(codes.Unimplemented, "model %s answers more than once, which Predict cannot", m.Name())
	}
	return m, nil
}

func specOf(m *model.Model) *pb.ModelSpec {
	return &pb.ModelSpec{Name: m.Name(), SignatureName: signature, VersionChoice: &pb.ModelSpec_Version{Version: wrapperspb.Int64(m.Version)}}
}

// Predict runs a model.
func (s *tensorflow) Predict(ctx context.Context, in *pb.PredictRequest) (*pb.PredictResponse, error) {
	received := time.Now()
	spoil, err := s.Faults.RPC(ctx, in.GetModelSpec().GetName())
	if err != nil {
		return nil, err
	}
	m, err := s.find(in.GetModelSpec())
	if err != nil {
		return nil, err
	}
	if name := in.GetModelSpec().GetSignatureName(); name != "" && name != signature {
		return nil, status.Errorf(codes.FailedPrecondition, "Serving signature name: %q not found in signature def", name)
	}
	req := &infer.Request{Model: m.Name(), Received: received, Context: ctx}
	for name, t := range in.GetInputs() {
		input, err := fromProto(name, t)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		req.Inputs = append(req.Inputs, input)
	}
	for _, name := range in.GetOutputFilter() {
		req.Outputs = append(req.Outputs, infer.Output{Name: name})
	}
	resp, err := m.Run(req)
	if err != nil {
		return nil, err
	}
	out := &pb.PredictResponse{ModelSpec: specOf(m), Outputs: map[string]*pb.TensorProto{}}
	for _, t := range resp.Outputs {
		out.Outputs[t.Name] = toProto(t)
	}
	spoil(out)
	s.Log.Add(received, reqlog.Entry{Model: m.Name(), Parent: reqlog.ParentOf(ctx)})
	return out, nil
}

// GetModelMetadata gives the signature of a model.
func (s *tensorflow) GetModelMetadata(_ context.Context, in *pb.GetModelMetadataRequest) (*pb.GetModelMetadataResponse, error) {
	m, err := s.find(in.GetModelSpec())
	if err != nil {
		return nil, err
	}
	if !slices.Equal(in.GetMetadataField(), []string{"signature_def"}) {
		return nil, status.Error(codes.InvalidArgument, "metadata_field must be signature_def")
	}
	ins, outs := m.Describe()
	def := &pb.SignatureDef{Inputs: infos(ins), Outputs: infos(outs), MethodName: "tensorflow/serving/predict"}
	field, err := anypb.New(&pb.SignatureDefMap{SignatureDef: map[string]*pb.SignatureDef{signature: def}})
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &pb.GetModelMetadataResponse{ModelSpec: specOf(m), Metadata: map[string]*anypb.Any{"signature_def": field}}, nil
}

func infos(list []model.Tensor) map[string]*pb.TensorInfo {
	out := map[string]*pb.TensorInfo{}
	for _, t := range list {
		out[t.Name] = &pb.TensorInfo{Encoding: &pb.TensorInfo_Name{Name: t.Name + ":0"}, Dtype: types[t.Type], TensorShape: shapeOf(t.Shape)}
	}
	return out
}

// GetModelStatus reports that a loaded model is available.
func (s *tensorflow) GetModelStatus(_ context.Context, in *pb.GetModelStatusRequest) (*pb.GetModelStatusResponse, error) {
	m, err := s.find(in.GetModelSpec())
	if err != nil {
		return nil, err
	}
	return &pb.GetModelStatusResponse{ModelVersionStatus: []*pb.ModelVersionStatus{
		{Version: m.Version, State: pb.ModelVersionStatus_AVAILABLE, Status: &pb.StatusProto{}},
	}}, nil
}
