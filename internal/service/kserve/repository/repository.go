// Package repository is a client of a Triton server's model repository, for one model.
package repository

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

// Repository loads and unloads one model, and tells how it keeps sequences.
type Repository interface {
	Load(ctx context.Context) error
	Unload(ctx context.Context) error
	Batcher(ctx context.Context) (Batcher, error)
}

// Batcher is what matters of the sequence batcher's configuration.
type Batcher struct {
	Idle    time.Duration // how long the server keeps an idle sequence
	Numbers bool          // the model sees correlation ids as numbers
}

// HTTP is the repository of the server at a URL.
func HTTP(server, model string) Repository { return &httpControl{base: server + "/v2/", model: model} }

// GRPC is the repository of the server at an address.
func GRPC(addr, model string) Repository { return &grpcControl{addr: addr, model: model} }

// defaultIdle is what the server takes where the configuration says nothing.
const defaultIdle = time.Second

const explicitHint = " (does the server run with --model-control-mode=explicit?)"

type httpControl struct{ base, model string }

func (c *httpControl) Load(ctx context.Context) error { return c.set(ctx, "load") }

func (c *httpControl) Unload(ctx context.Context) error { return c.set(ctx, "unload") }

func (c *httpControl) set(ctx context.Context, what string) error {
	_, err := c.do(ctx, http.MethodPost, "repository/models/"+url.PathEscape(c.model)+"/"+what)
	if err != nil {
		return fmt.Errorf("%s the model: %w%s", what, err, explicitHint)
	}
	return nil
}

func (c *httpControl) Batcher(ctx context.Context) (Batcher, error) {
	text, err := c.do(ctx, http.MethodGet, "models/"+url.PathEscape(c.model)+"/config")
	if err != nil {
		return Batcher{}, fmt.Errorf("ask for the configuration: %w", err)
	}
	var config struct {
		Sequence struct {
			Idle   json.Number `json:"max_sequence_idle_microseconds"`
			Inputs []struct {
				Control []struct {
					Kind string `json:"kind"`
					Type string `json:"data_type"`
				} `json:"control"`
			} `json:"control_input"`
		} `json:"sequence_batching"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return Batcher{}, fmt.Errorf("read the configuration: %w", err)
	}
	us, _ := config.Sequence.Idle.Int64() // an absent number is none
	b := Batcher{Idle: cmp.Or(time.Duration(us)*time.Microsecond, defaultIdle)}
	for _, in := range config.Sequence.Inputs {
		for _, ctl := range in.Control {
			if ctl.Kind == kserve.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID.String() {
				b.Numbers = ctl.Type != kserve.DataType_TYPE_STRING.String()
			}
		}
	}
	return b, nil
}

func (c *httpControl) do(ctx context.Context, method, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return text, err
}

type grpcControl struct{ addr, model string }

func (c *grpcControl) Load(ctx context.Context) error {
	err := c.call(func(api kserve.GRPCInferenceServiceClient) error {
		_, err := api.RepositoryModelLoad(ctx, &kserve.RepositoryModelLoadRequest{ModelName: c.model})
		return err
	})
	if err != nil {
		return fmt.Errorf("load the model: %w%s", err, explicitHint)
	}
	return nil
}

func (c *grpcControl) Unload(ctx context.Context) error {
	err := c.call(func(api kserve.GRPCInferenceServiceClient) error {
		_, err := api.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: c.model})
		return err
	})
	if err != nil {
		return fmt.Errorf("unload the model: %w%s", err, explicitHint)
	}
	return nil
}

func (c *grpcControl) Batcher(ctx context.Context) (b Batcher, err error) {
	err = c.call(func(api kserve.GRPCInferenceServiceClient) error {
		r, err := api.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: c.model})
		seq := r.GetConfig().GetSequenceBatching()
		b.Idle = cmp.Or(time.Duration(seq.GetMaxSequenceIdleMicroseconds())*time.Microsecond, defaultIdle)
		for _, in := range seq.GetControlInput() {
			for _, ctl := range in.GetControl() {
				if ctl.GetKind() == kserve.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID {
					b.Numbers = ctl.GetDataType() != kserve.DataType_TYPE_STRING
				}
			}
		}
		return err
	})
	return b, err
}

func (c *grpcControl) call(f func(kserve.GRPCInferenceServiceClient) error) error {
	conn, err := grpc.NewClient("passthrough:///"+c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := f(kserve.NewGRPCInferenceServiceClient(conn)); err != nil {
		return errors.New(status.Convert(err).Message())
	}
	return nil
}
