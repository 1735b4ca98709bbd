package refserver_test

import (
	"bytes"
	"context"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/redline-bench/redline/internal/proto/tfserving"
	"github.com/redline-bench/redline/internal/refserver"
)

func TestTensorFlowServing(t *testing.T) {
	s := start(t, refserver.Config{})
	conn, err := grpc.NewClient(s.Addresses().TFServing, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := pb.NewPredictionServiceClient(conn)
	spec := &pb.ModelSpec{Name: "simple", SignatureName: "serving_default"}
	vector := func(v int32) *pb.TensorProto {
		p := &pb.TensorProto{Dtype: pb.DataType_DT_INT32, TensorShape: &pb.TensorShapeProto{Dim: []*pb.TensorShapeProto_Dim{{Size: 1}, {Size: 16}}}}
		for range 16 {
			p.IntVal = append(p.IntVal, v)
		}
		return p
	}
	one := vector(4)
	one.IntVal = one.IntVal[:1] // a single value stands for all
	got, err := c.Predict(t.Context(), &pb.PredictRequest{ModelSpec: spec, Inputs: map[string]*pb.TensorProto{"INPUT0": vector(3), "INPUT1": one}})
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat([]byte{7, 0, 0, 0}, 16); !bytes.Equal(got.GetOutputs()["OUTPUT0"].GetTensorContent(), want) {
		t.Errorf("the sum is %v", got.GetOutputs()["OUTPUT0"])
	}
	meta, err := c.GetModelMetadata(t.Context(), &pb.GetModelMetadataRequest{ModelSpec: spec, MetadataField: []string{"signature_def"}})
	if err != nil {
		t.Fatal(err)
	}
	var defs pb.SignatureDefMap
	if err := meta.GetMetadata()["signature_def"].UnmarshalTo(&defs); err != nil {
		t.Fatal(err)
	}
	if dims := defs.GetSignatureDef()["serving_default"].GetInputs()["INPUT0"].GetTensorShape().GetDim(); len(dims) != 2 || dims[1].GetSize() != 16 {
		t.Errorf("dims %v", dims)
	}
	if _, err := c.Predict(t.Context(), &pb.PredictRequest{ModelSpec: &pb.ModelSpec{Name: "nope"}}); err == nil || !strings.Contains(err.Error(), "Servable not found") {
		t.Errorf("unknown model: %v", err)
	}
}

func TestTorchServe(t *testing.T) {
	s := start(t, refserver.Config{})
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormField("data")
	if err == nil {
		_, err = part.Write([]byte("12345"))
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	status, _, body := call(t, "http://"+s.Addresses().TorchServe+"/predictions/resnet/1.0", form.String(), "Content-Type", w.FormDataContentType())
	if status != 200 || body != `{"bytes":5}` {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := call(t, "http://"+s.Addresses().TorchServe+"/nope", ""); status != 404 {
		t.Errorf("unknown path: %d", status)
	}
}

// write makes a model folder.
func write(t *testing.T, dir, name, config string, versions ...string) {
	t.Helper()
	for _, v := range versions {
		if err := os.MkdirAll(filepath.Join(dir, name, v), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
}

const double = `
name: "double"
backend: "identity"
max_batch_size: 0
version_policy { specific { versions: [ 1, 3 ] } }
input [ { name: "A" data_type: TYPE_FP64 dims: [ 2 ] } ]
output [ { name: "B" data_type: TYPE_FP64 dims: [ 2 ] } ]
parameters [ { key: "execute_delay_ms" value: { string_value: "1" } } ]
`

func TestModelRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "double", double, "1", "2", "3")
	s := start(t, refserver.Config{Repositories: []string{dir}, NoBuiltin: true})
	url := "http://" + s.Addresses().HTTP + "/v2/"
	if _, _, index := call(t, url+"repository/index", "{}"); index != `[{"name":"double","version":"1","state":"READY"},{"name":"double","version":"3","state":"READY"}]` {
		t.Errorf("index %s", index)
	}
	body := `{"inputs":[{"name":"A","datatype":"FP64","shape":[2],"data":[1.5,2.0]}]}`
	for version, want := range map[string]int{"": 200, "/versions/1": 200, "/versions/3": 200, "/versions/2": 404} {
		if got, _, text := call(t, url+"models/double"+version+"/infer", body); got != want {
			t.Errorf("version %q: %d %s", version, got, text)
		}
	}
	_, _, text := call(t, url+"models/double/infer", body)
	if !strings.Contains(text, `"model_version":"3"`) || !strings.Contains(text, `"data":[1.5,2.0]`) {
		t.Errorf("got %s", text)
	}
}

func TestBadRepositoriesAreRefused(t *testing.T) {
	for name, config := range map[string]string{
		"not text":        "}{",
		"other name":      strings.Replace(double, `"double"`, `"other"`, 1),
		"unknown backend": strings.Replace(double, `"identity"`, `"onnxruntime"`, 1),
		"no version":      strings.Replace(double, "[ 1, 3 ]", "[ 9 ]", 1),
	} {
		dir := t.TempDir()
		write(t, dir, "double", config, "1")
		s, err := refserver.Start(context.Background(), refserver.Config{Repositories: []string{dir}})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
}
