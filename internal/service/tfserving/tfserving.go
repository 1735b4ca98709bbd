// Package tfserving loads TensorFlow Serving over gRPC: PredictionService.Predict, with one signature of a saved
// model.
//
// The model comes from the server, as the signature that --model-signature-name names. Tensors go out in the typed
// lists of TensorProto, one list for each kind of number; answers are read in that
// form or as raw content. A saved model does not say whether it batches: with -b the first dimension of every
// input must be variable and is the batch, without -b shapes are the signature's own.
package tfserving

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/tfserving"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
)

var _ service.Service = (*Service)(nil)

// The methods that are called.
const (
	predict  = "/tensorflow.serving.PredictionService/Predict"
	metadata = "/tensorflow.serving.PredictionService/GetModelMetadata"
)

// signatureField is the metadata that holds the signatures.
const signatureField = "signature_def"

// Service is one signature of one model. Use New.
type Service struct {
	target plan.Target
	batch  int // 0: the model is taken as it is, without a batch dimension
	at     *grpcpool.Server
	header *h2.Header
}

// New checks the target and makes a service. It does not connect.
func New(t plan.Target, in plan.Input) (*Service, error) {
	at, err := grpcpool.NewServer(t)
	if err != nil {
		return nil, err
	}
	s := &Service{target: t, at: at, header: at.Header(predict)}
	if in.BatchSet {
		s.batch = in.Batch
	}
	return s, nil
}

// spec names the model, its version and the signature.
func (s *Service) spec(signature string) *pb.ModelSpec {
	m := &pb.ModelSpec{Name: s.target.Model, SignatureName: signature}
	if s.target.Version != "" {
		m.VersionChoice = &pb.ModelSpec_VersionLabel{VersionLabel: s.target.Version}
	}
	return m
}

// Describe asks the server for the signature.
func (s *Service) Describe(ctx context.Context) (*service.Model, error) {
	var r pb.GetModelMetadataResponse
	req := &pb.GetModelMetadataRequest{ModelSpec: s.spec(""), MetadataField: []string{signatureField}}
	if err := s.at.Call(ctx, kserve.OpMetadata, metadata, req, &r); err != nil {
		return nil, err
	}
	var all pb.SignatureDefMap
	field := r.GetMetadata()[signatureField]
	if field == nil {
		return nil, s.unread("the server's metadata holds no "+signatureField, nil)
	}
	if err := field.UnmarshalTo(&all); err != nil {
		return nil, s.unread("the server's "+signatureField+" cannot be read", err)
	}
	sig := all.GetSignatureDef()[s.target.SignatureName]
	if sig == nil {
		return nil, s.misfit(service.NoSignature, s.target.SignatureName)
	}
	return s.model(sig)
}

// unread is the error of metadata that cannot be read.
func (s *Service) unread(text string, err error) error {
	return &service.Error{Op: kserve.OpMetadata, Class: record.Protocol, Addr: s.at.Addr(), Text: text, Err: err}
}

// misfit is the error of a model that cannot be used as asked.
func (s *Service) misfit(why service.Sentence, args ...any) error {
	return &service.Error{Op: kserve.OpParse, Class: record.Server, Addr: s.at.Addr(), Err: why.With(args...)}
}

// model turns a signature into a model.
func (s *Service) model(sig *pb.SignatureDef) (*service.Model, error) {
	m := &service.Model{Name: s.target.Model, Version: s.target.Version, Platform: "tensorflow_serving", MaxBatch: s.batch}
	for _, name := range slices.Sorted(maps.Keys(sig.GetInputs())) {
		info := sig.GetInputs()[name]
		spec, err := s.tensor(name, info)
		if err != nil {
			return nil, err
		}
		if s.batch > 0 {
			switch shape := info.GetTensorShape(); {
			case shape.GetUnknownRank():
				return nil, s.misfit(service.BatchUnknownRank)
			case len(spec.Shape) == 0 || spec.Shape[0] != -1:
				return nil, s.misfit(service.BatchFixedSize)
			}
			spec.Shape = spec.Shape[1:]
		}
		m.Inputs = append(m.Inputs, spec)
	}
	for _, name := range slices.Sorted(maps.Keys(sig.GetOutputs())) {
		spec, err := s.tensor(name, sig.GetOutputs()[name])
		if err != nil {
			return nil, err
		}
		if s.batch > 0 && len(spec.Shape) > 0 && spec.Shape[0] == -1 {
			spec.Shape = spec.Shape[1:]
		}
		m.Outputs = append(m.Outputs, spec)
	}
	return m, nil
}

// tensor describes an input or output. One of unknown rank counts as a list of any length, which --shape overrides.
func (s *Service) tensor(name string, info *pb.TensorInfo) (service.TensorSpec, error) {
	dt, ok := datatypes[info.GetDtype()]
	if !ok {
		return service.TensorSpec{}, s.misfit("tensor %s has the datatype %s, which cannot be sent", name, info.GetDtype())
	}
	spec := service.TensorSpec{Name: name, Type: dt, Shape: tensor.Shape{}}
	if info.GetTensorShape().GetUnknownRank() {
		spec.Shape = tensor.Shape{-1}
		return spec, nil
	}
	for _, d := range info.GetTensorShape().GetDim() {
		spec.Shape = append(spec.Shape, d.GetSize())
	}
	return spec, nil
}

// request is a prepared PredictRequest.
type request struct {
	body   []byte
	packed bool
	expect []tensor.Tensor
}

// Prepare encodes one request.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	req := &pb.PredictRequest{ModelSpec: s.spec(s.target.SignatureName), Inputs: make(map[string]*pb.TensorProto, len(in.Tensors))}
	for i := range in.Tensors {
		t, err := encode(&in.Tensors[i])
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", in.Tensors[i].Name, err)
		}
		req.Inputs[in.Tensors[i].Name] = t
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	r := &request{body: body, expect: in.Expect}
	if e := s.at.Encoding(); e != "" {
		p, err := zip.Pack(e, body)
		if err != nil {
			return nil, err
		}
		r.body, r.packed = p.Tail(slices.Clip(p.Body), nil), true
	}
	return r, nil
}

// Open makes a transport without slots.
func (s *Service) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	return grpcpool.NewUnary(ctx, s.at, sink, s.header, func() grpcpool.Unary { return unary{} })
}

// Outputs decodes a PredictResponse.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) { return outputs(payload) }

// Close ends the connection of the calls outside of the load.
func (s *Service) Close() error { return s.at.Close() }
