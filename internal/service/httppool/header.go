package httppool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
)

// libcurl is the User-Agent of Triton's C++ client.
const libcurl = "libcurl-agent/1.0"

// checkHeader refuses what would break the request, or contradict what is computed.
func checkHeader(h plan.Header, own []string) error {
	computed := slices.ContainsFunc(append([]string{"content-length", "transfer-encoding", "connection"}, own...),
		func(name string) bool { return strings.EqualFold(name, h.Name) })
	if computed {
		return fmt.Errorf("the header %s is set by the client itself: leave it out", h.Name)
	}
	if h.Name == "" || strings.ContainsAny(h.Name, " \t\r\n:") || strings.ContainsAny(h.Value, "\r\n\x00") {
		return fmt.Errorf("%q: %q is not a valid HTTP header", h.Name, h.Value)
	}
	return nil
}

// Given tells whether the user set this header. The name must be in lower case.
func (s *Server) Given(name string) bool {
	_, ok := s.names[name]
	return ok
}

// AppendStart renders the request line and the headers that every HTTP/1.1 request starts with; see Fields for HTTP/2. Like curl, it leaves
// out a default that the user gave, and a Host of the user's stands where the default would.
func (s *Server) AppendStart(b []byte, method, path string) []byte {
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, s.base...)
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\n"...)
	host, given := s.names["host"]
	if !given || strings.TrimSpace(host) == "" {
		host = s.name
	}
	b = append(b, "Host: "...)
	b = append(b, strings.TrimLeft(host, " ")...)
	b = append(b, "\r\n"...)
	if !s.Given("user-agent") {
		b = append(b, "User-Agent: "+s.agent+"\r\n"...)
	}
	if !s.Given("accept") {
		b = append(b, "Accept: */*\r\n"...)
	}
	return b
}

// AppendUser renders the user's headers. One without a value is left out, as curl does.
func (s *Server) AppendUser(b []byte) []byte {
	for _, h := range s.headers {
		if strings.EqualFold(h.Name, "host") || strings.TrimSpace(h.Value) == "" {
			continue
		}
		b = append(b, h.Name...)
		b = append(b, ": "...)
		b = append(b, h.Value...)
		b = append(b, "\r\n"...)
	}
	return b
}
