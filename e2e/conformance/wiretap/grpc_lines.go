package wiretap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// message takes one message of a gRPC call.
func (n *normalizer) message(r *Request) {
	line := r.Method
	for _, key := range slices.Sorted(maps.Keys(r.Metadata)) {
		switch key {
		case ":authority", "content-type", "user-agent", "grpc-accept-encoding":
		default:
			line += fmt.Sprintf(" | %s: %q", key, r.Metadata[key])
		}
	}
	if r.Compression != "" {
		line += " | compressed with " + r.Compression
	}
	if r.Method != "ModelInfer" && r.Method != "ModelStreamInfer" {
		n.around(line + " | " + controlText(r))
		return
	}
	if r.Method == "ModelStreamInfer" {
		n.streams[r.Call] = true
	}
	var m pb.ModelInferRequest
	if err := proto.Unmarshal(r.Message, &m); err != nil {
		n.infer(line+" | "+err.Error(), nil, 0, false, false)
		return
	}
	var id *uint64
	form := m.GetId()
	if v, err := strconv.ParseUint(m.GetId(), 10, 64); err == nil {
		id, form = &v, "#"
	}
	p := m.GetParameters()
	sequence, start, end := p["sequence_id"], p["sequence_start"].GetBoolParam(), p["sequence_end"].GetBoolParam()
	if sequence.GetInt64Param() != 0 {
		p["sequence_id"] = &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: "int64 #"}}
	}
	line += fmt.Sprintf(" | model %q version %q id %q %s", m.GetModelName(), m.GetModelVersion(), form, parameters(p))
	for _, in := range m.GetInputs() {
		line += fmt.Sprintf(" | input %s %s %v %s", in.GetName(), in.GetDatatype(), in.GetShape(), parameters(in.GetParameters()))
		if in.GetContents() != nil {
			line += " with contents"
		}
	}
	for _, out := range m.GetOutputs() {
		line += fmt.Sprintf(" | output %s %s", out.GetName(), parameters(out.GetParameters()))
	}
	for _, raw := range m.GetRawInputContents() {
		line += " | raw " + n.data(raw)
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		line += " | unknown fields"
	}
	n.infer(line, id, uint64(sequence.GetInt64Param()), start, end)
}

func parameters(p map[string]*pb.InferParameter) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, key+"="+compact(p[key]))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// controlText writes the message of a call around the load as JSON.
func controlText(r *Request) string {
	var m proto.Message
	switch r.Method {
	case "ServerMetadata":
		m = &pb.ServerMetadataRequest{}
	case "ModelMetadata":
		m = &pb.ModelMetadataRequest{}
	case "ModelConfig":
		m = &pb.ModelConfigRequest{}
	case "ModelStatistics":
		m = &pb.ModelStatisticsRequest{}
	case "TraceSetting":
		m = &pb.TraceSettingRequest{}
	case "SystemSharedMemoryRegister":
		m = &pb.SystemSharedMemoryRegisterRequest{}
	case "SystemSharedMemoryUnregister":
		m = &pb.SystemSharedMemoryUnregisterRequest{}
	case "CudaSharedMemoryUnregister":
		m = &pb.CudaSharedMemoryUnregisterRequest{}
	default:
		return fmt.Sprintf("%x", r.Message)
	}
	if err := proto.Unmarshal(r.Message, m); err != nil {
		return err.Error()
	}
	return compact(m)
}

// compact is JSON without the spaces that protojson puts in at random.
func compact(m proto.Message) string {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return err.Error()
	}
	return b.String()
}
