package rpc_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2/h2test"
)

// canned is the answer of a server that has no time to look at requests.
func canned(t testing.TB) []byte {
	t.Helper()
	in := inputs()
	b, err := proto.Marshal(&pb.ModelInferResponse{
		ModelName: "echo", ModelVersion: "1",
		Outputs:           []*pb.ModelInferResponse_InferOutputTensor{{Name: "OUT", Datatype: "INT32", Shape: []int64{1, 16}}},
		RawOutputContents: [][]byte{in.Tensors[0].Data},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hotLoop(t testing.TB, slots int, compression string) *driver {
	t.Helper()
	in := inputs()
	in.Expect = []tensor.Tensor{{Name: "OUT", Data: in.Tensors[0].Data}}
	_, d := open(t, plan.Target{URL: h2test.Start(t, canned(t)).Addr(), Compression: compression}, in, slots)
	d.ids = false // the server does not send them back
	for _, c := range d.calls {
		c.Vars = service.Vars{Present: true, SeqID: 7, Start: true}
	}
	d.onEnd = func(c *service.Call) {
		if c.Rec.Class != record.OK {
			t.Errorf("a call ended with %v", c.Err)
		}
	}
	return d
}

func TestCallsDoNotAllocate(t *testing.T) {
	for _, compression := range []string{"", "gzip"} {
		d := hotLoop(t, 8, compression)
		d.run(2000)
		const n = 5000
		testkit.FewAllocs(t, n, func() { d.run(n) })
	}
}

func BenchmarkCalls(b *testing.B) {
	for _, slots := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("inflight=%d", slots), func(b *testing.B) {
			d := hotLoop(b, slots, "")
			d.run(1000)
			b.ReportAllocs()
			b.ResetTimer()
			d.run(max(b.N, slots))
		})
	}
}

func TestLargeTensors(t *testing.T) {
	f := startFake(t, &fake{}, grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30))
	data := make([]byte, 2<<20)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	in := service.Inputs{
		Tensors: []tensor.Tensor{{Name: "IN", Type: tensor.Uint8, Shape: tensor.Shape{int64(len(data))}, Data: data}},
		Outputs: []string{"OUT"},
		Expect:  []tensor.Tensor{{Name: "OUT", Data: data}},
	}
	for _, streaming := range []bool{false, true} {
		_, d := open(t, plan.Target{URL: f.addr, Streaming: streaming}, in, 4)
		d.onEnd = func(c *service.Call) {
			if c.Err != nil || c.Rec.In < uint64(len(data)) || c.Rec.Out < uint64(len(data)) {
				t.Errorf("%v: %+v", c.Err, c.Rec)
			}
		}
		d.run(8)
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePair(t, cert, key)
	creds, err := credentials.NewServerTLSFromFile(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	f := startFake(t, &fake{}, grpc.Creds(creds))
	_, d := open(t, plan.Target{URL: f.addr, TLS: plan.TLS{GRPC: true, CAFile: cert, CertFile: cert, KeyFile: key}}, inputs(), 4)
	d.onEnd = func(c *service.Call) {
		if c.Err != nil {
			t.Error(c.Err)
		}
	}
	d.run(100)
	svc, err := rpc.New(plan.Target{URL: f.addr, Model: "echo", TLS: plan.TLS{GRPC: true}}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Describe(t.Context()); err == nil {
		t.Error("a certificate that nobody vouches for was accepted")
	}
}

func writePair(t *testing.T, cert, key string) {
	t.Helper()
	pair, _ := testkit.Certificate(t, "localhost")
	k, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: k}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
