package httppool

import (
	"strings"

	"github.com/redline-bench/redline/internal/wire/h2"
)

// oneHop are headers of HTTP/1.1 that speak of the connection: HTTP/2 has none of them.
var oneHop = map[string]bool{
	"host": true, "connection": true, "keep-alive": true, "proxy-connection": true, "transfer-encoding": true, "upgrade": true, "te": true,
}

// Fields are the header fields of a request over HTTP/2: the same that AppendStart and AppendUser render.
func (s *Server) Fields(method, path, ctype string) []h2.Field {
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	host, given := s.names["host"]
	if host = strings.TrimSpace(host); !given || host == "" {
		host = s.name
	}
	f := []h2.Field{
		{Name: ":method", Value: method},
		{Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: host},
		{Name: ":path", Value: s.base + path},
	}
	for _, own := range []h2.Field{
		{Name: "user-agent", Value: s.agent},
		{Name: "accept", Value: "*/*"},
		{Name: "content-type", Value: ctype},
	} {
		if !s.Given(own.Name) {
			f = append(f, own)
		}
	}
	for _, h := range s.headers {
		name, value := strings.ToLower(h.Name), strings.TrimSpace(h.Value)
		if !oneHop[name] && value != "" {
			f = append(f, h2.Field{Name: name, Value: value})
		}
	}
	return f
}
