package service

import "context"

// Controller is implemented by services whose server loads models with a configuration of the client.
type Controller interface {
	// ModelConfig is the configuration of a loaded model, as protobuf's JSON.
	ModelConfig(ctx context.Context, model string) ([]byte, error)
	// LoadModel loads a model, or loads it again. config replaces the configuration that the server has for it; nil does not.
	LoadModel(ctx context.Context, model string, config []byte) error
	UnloadModel(ctx context.Context, model string) error
}
