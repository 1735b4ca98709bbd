package kserve

import (
	"encoding/json"
	"net/http"
	"strings"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// endpoint answers one kind of request over HTTP with a value that is written as JSON; nil if the response has no body, or is already sent.
type endpoint func(s *Server, x *exchange) (any, error)

// HTTP is the handler of the protocol over HTTP.
func (s *Server) HTTP() http.Handler {
	mux := http.NewServeMux()
	add := func(pattern string, f endpoint) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			x := &exchange{ResponseWriter: w, Request: r}
			x.reply(f(s, x))
		})
	}
	for pattern, f := range map[string]endpoint{
		"GET /v2": (*Server).serverMetadata, "GET /v2/health/live": (*Server).healthy, "GET /v2/health/ready": (*Server).healthy,
		"GET /v2/models/stats": (*Server).modelStatistics, "POST /v2/repository/index": (*Server).index,
		"POST /v2/repository/models/{model}/load": (*Server).load, "POST /v2/repository/models/{model}/unload": (*Server).unload,
		"GET /v2/trace/setting": (*Server).traceSetting, "POST /v2/trace/setting": (*Server).traceSetting,
	} {
		add(pattern, f)
	}
	for _, model := range []string{" /v2/models/{model}", " /v2/models/{model}/versions/{version}"} {
		for verb, f := range map[string]endpoint{
			"": (*Server).modelMetadata, "/ready": (*Server).modelReady, "/config": (*Server).modelConfig, "/stats": (*Server).modelStatistics,
		} {
			add("GET"+model+verb, f)
		}
		for verb, f := range map[string]endpoint{
			"/infer": (*Server).inferHTTP, "/generate": (*Server).generate, "/generate_stream": (*Server).generate,
		} {
			add("POST"+model+verb, f)
		}
	}
	for _, kind := range []shm.Kind{shm.System, shm.CUDA} {
		for _, region := range []string{"", "/region/{region}"} {
			path := " /v2/" + string(kind) + "sharedmemory" + region
			add("GET"+path+"/status", func(s *Server, x *exchange) (any, error) { return s.memoryStatus(kind, x.PathValue("region")) })
			add("POST"+path+"/register", func(s *Server, x *exchange) (any, error) { return nil, s.registerMemory(kind, x) })
			add("POST"+path+"/unregister", func(s *Server, x *exchange) (any, error) {
				s.shared.Unregister(kind, x.PathValue("region"))
				return nil, nil
			})
		}
	}
	return mux
}

func (s *Server) healthy(*exchange) (any, error) { return nil, nil }

func (s *Server) serverMetadata(x *exchange) (any, error) {
	return s.ServerMetadata(x.Context(), &pb.ServerMetadataRequest{})
}

func (s *Server) modelMetadata(x *exchange) (any, error) {
	return s.ModelMetadata(x.Context(), &pb.ModelMetadataRequest{Name: x.PathValue("model"), Version: x.PathValue("version")})
}

func (s *Server) modelConfig(x *exchange) (any, error) {
	got, err := s.ModelConfig(x.Context(), &pb.ModelConfigRequest{Name: x.PathValue("model"), Version: x.PathValue("version")})
	return got.GetConfig(), err
}

func (s *Server) modelStatistics(x *exchange) (any, error) {
	return s.ModelStatistics(x.Context(), &pb.ModelStatisticsRequest{Name: x.PathValue("model"), Version: x.PathValue("version")})
}

func (s *Server) modelReady(x *exchange) (any, error) {
	if _, err := s.Models.Get(x.PathValue("model"), x.PathValue("version")); err != nil {
		return nil, bad("%v", err)
	}
	return nil, nil
}

func (s *Server) index(x *exchange) (any, error) {
	var body struct{ Ready bool }
	if err := x.decode(&body); err != nil {
		return nil, err
	}
	return s.Models.Index(body.Ready), nil
}

func (s *Server) load(x *exchange) (any, error) {
	var body struct{ Parameters struct{ Config string } }
	if err := x.decode(&body); err != nil {
		return nil, err
	}
	return nil, s.Models.Load(x.PathValue("model"), body.Parameters.Config)
}

func (s *Server) unload(x *exchange) (any, error) { return nil, s.Models.Unload(x.PathValue("model")) }

// traceSetting shows settings: a list of levels, and a text for each other one.
func (s *Server) traceSetting(x *exchange) (any, error) {
	var body map[string]json.RawMessage
	if err := x.decode(&body); err != nil {
		return nil, err
	}
	changes := settings{}
	for name, raw := range body {
		var values []string
		if json.Unmarshal(raw, &values) != nil { // a text or a number
			values = []string{strings.Trim(string(raw), `"`)}
		}
		changes[name] = values
	}
	now, err := s.Trace.update(changes)
	out := map[string]any{}
	for name, values := range now {
		if out[name] = values[0]; name == "trace_level" {
			out[name] = values
		}
	}
	return out, err
}

func (s *Server) memoryStatus(kind shm.Kind, region string) (any, error) {
	list, err := s.shared.Status(kind, region)
	out := []any{}
	for _, r := range list {
		v := map[string]any{"name": r.Name, "byte_size": r.Size}
		if kind == shm.CUDA {
			v["device_id"] = r.Device
		} else {
			v["key"], v["offset"] = r.Key, r.Offset
		}
		out = append(out, v)
	}
	return out, err
}

func (s *Server) registerMemory(kind shm.Kind, x *exchange) error {
	var body struct {
		Key    string
		Offset uint64
		Size   uint64 `json:"byte_size"`
		Device int64  `json:"device_id"`
		Handle struct {
			Bytes []byte `json:"b64"`
		} `json:"raw_handle"`
	}
	if err := x.decode(&body); err != nil {
		return err
	}
	region := x.PathValue("region")
	if region == "" || body.Size == 0 || body.Key == "" && body.Handle.Bytes == nil {
		return bad("to register memory, name the region in the path, as .../region/NAME/register, and give byte_size, and key or raw_handle")
	}
	if kind == shm.CUDA {
		return s.shared.RegisterCUDA(region, body.Handle.Bytes, body.Device, body.Size)
	}
	return s.shared.Register(region, body.Key, body.Offset, body.Size)
}
