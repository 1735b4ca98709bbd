package dynamicgrpc

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// What a server sends by reflection, and what it answers, are read as messages or refused: a message that is read can be
// shown as JSON.
func FuzzDescribed(f *testing.F) {
	small := &descriptorpb.FileDescriptorProto{
		Name: new("a.proto"), Package: new("p"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("M"), Field: []*descriptorpb.FieldDescriptorProto{{
			Name: new("m"), Number: new(int32(1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".p.M"),
		}}}},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("S"), Method: []*descriptorpb.MethodDescriptorProto{{
			Name: new("Do"), InputType: new(".p.M"), OutputType: new(".p.M"),
		}}}},
	}
	raw, err := proto.Marshal(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, []byte("\x0a\x02\x0a\x00"))
	f.Add(raw, []byte("\x0a\x05\x0a"))
	f.Add([]byte("\x0a\x07a.proto"), []byte{})
	f.Fuzz(func(t *testing.T, descriptor, answer []byte) {
		file := &descriptorpb.FileDescriptorProto{}
		if proto.Unmarshal(descriptor, file) != nil {
			return
		}
		files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
		if err != nil {
			return
		}
		m, err := find(files, "p.S/Do")
		if m == nil || err != nil {
			return
		}
		s := &Service{method: &method{m, dynamicpb.NewTypes(files)}}
		out, err := s.Outputs(answer)
		if err == nil && (len(out) != 1 || !json.Valid(out[0].Data)) {
			t.Errorf("%q is shown as %+v", answer, out)
		}
		if err == nil {
			_, _ = s.encode(out[0].Data)
		}
	})
}
