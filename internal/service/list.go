package service

import "context"

// Lister is implemented by services whose server says what it is and which models it has.
type Lister interface {
	// Identify asks the server what it is. An error means that no server of this kind answers there.
	Identify(ctx context.Context) (Server, error)
	// Models lists the models that the server knows, loaded or not.
	Models(ctx context.Context) ([]ListedModel, error)
}

// Server is what a server says of itself.
type Server struct {
	Name       string   `json:"name,omitempty"`
	Version    string   `json:"version,omitempty"`
	Extensions []string `json:"extensions,omitempty"`
}

// Ready is the state of a model that can be asked.
const Ready = "READY"

// ListedModel is one version of a model in a server's list.
type ListedModel struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"` // Ready, or the server's word; empty: never loaded
	Reason  string `json:"reason,omitempty"`
}
