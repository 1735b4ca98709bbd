package kind

import (
	"cmp"

	"github.com/redline-bench/redline/internal/plan"
)

// Address sets the address of a target to what a user pastes; see plan.Address. The target has its protocol and its endpoint.
func (r *Row) Address(t *plan.Target, text string) error {
	if r.InProcess() {
		t.URL = text
		return nil
	}
	api := r.Path
	if r.Endpoints {
		api = cmp.Or(t.Endpoint, api)
	}
	url, tls, err := plan.Address(text, t.Protocol, api)
	if err == nil {
		t.URL, t.TLS.GRPC = url, t.TLS.GRPC || tls
	}
	return err
}
