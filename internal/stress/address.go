package stress

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
)

// Address is where the server is.
type Address struct {
	Secure bool   `json:"secure,omitzero"` // https
	Host   string `json:"host"`            // HOST:PORT
	Path   string `json:"path,omitzero"`   // prefix of the protocol's paths, without a slash at its end
}

// parseAddress reads HOST:PORT or a URL. It drops the user, the password and the query of a URL: requests do not carry
// them, and they must not be printed.
func parseAddress(text string, protocol plan.Protocol) (Address, error) {
	text, secure, err := plan.Address(text, protocol, "v2")
	if err != nil {
		return Address{}, err
	}
	whole := text
	if !strings.Contains(text, "://") {
		whole = "//" + text
	}
	u, err := url.Parse(whole)
	shown := text[strings.LastIndexByte(text, '@')+1:]
	if err != nil || u.Hostname() == "" {
		return Address{}, fmt.Errorf("-u %q is not an address: use HOST:PORT or http://HOST:PORT", shown)
	}
	a := Address{Secure: secure || u.Scheme == "https", Host: u.Host, Path: strings.TrimRight(u.EscapedPath(), "/")}
	switch {
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		return Address{}, fmt.Errorf("-u has the scheme %s: use HOST:PORT, http:// or https://", u.Scheme)
	case a.Secure && protocol == plan.GRPC:
		return Address{}, errors.New("-u has the scheme https: redline stress has no TLS over gRPC; use HOST:PORT, or --protocol HTTP")
	case a.Secure:
		a.Host = withPort(u, "443")
	case u.Scheme == "http":
		a.Host = withPort(u, "80")
	}
	return a, nil
}

func withPort(u *url.URL, port string) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	return u.Host
}

// URL is the address with its scheme.
func (a Address) URL() string {
	if a.Secure {
		return "https://" + a.Host + a.Path
	}
	return "http://" + a.Host + a.Path
}

// String is the shortest form that option -u takes.
func (a Address) String() string {
	if a.Secure {
		return a.URL()
	}
	return a.Host + a.Path
}
