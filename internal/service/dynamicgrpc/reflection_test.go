package dynamicgrpc_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// ready answers one method; its descriptor imports another file.
type ready struct {
	pb.UnimplementedGRPCInferenceServiceServer
}

func (ready) ModelReady(_ context.Context, r *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	return &pb.ModelReadyResponse{Ready: r.GetName() == "a" && r.GetVersion() == "1"}, nil
}

func TestReflection(t *testing.T) {
	for name, register := range map[string]func(*grpc.Server){
		"v1": func(s *grpc.Server) { reflection.RegisterV1(s) },
		"v1alpha": func(s *grpc.Server) {
			alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ln := testkit.Listen(t, "127.0.0.1:0")
			srv := grpc.NewServer()
			pb.RegisterGRPCInferenceServiceServer(srv, ready{})
			register(srv)
			testkit.ServeGRPC(t, srv, ln)

			svc := newService(t, plan.Target{URL: ln.Addr().String(), GRPCMethod: "inference.GRPCInferenceService/ModelReady"})
			d := open(t, svc, messages(`{"name": "a", "version": "1"}`), 2)
			d.onRsp = func(payload []byte) {
				out, err := svc.Outputs(payload)
				if err != nil || len(out) != 1 || out[0].Type != tensor.JSON || string(out[0].Data) != `{"ready":true}` {
					t.Errorf("%v: %q", err, out)
				}
			}
			d.run(10)
			if err := d.calls[0].Err; err != nil {
				t.Error(err)
			}
		})
	}
}
