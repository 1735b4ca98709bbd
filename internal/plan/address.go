package plan

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// Address reads the address of a server as people paste it: HOST:PORT, with or without a scheme, a path and a slash at the
// end. apis are the paths at which the API of the server begins, such as v2, or whole paths of requests: the address keeps only
// what comes before them. Over gRPC the result is HOST:PORT, and tls tells whether the scheme asks for TLS.
func Address(text string, protocol Protocol, apis ...string) (address string, tls bool, err error) {
	text = strings.TrimSpace(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "", text
	}
	host, path, _ := strings.Cut(rest, "/")
	path = beforeAPI(path, apis)
	switch name := strings.ToLower(scheme); {
	case protocol != GRPC && (name == "grpc" || name == "grpcs"):
		return "", false, fmt.Errorf("-u %s is a gRPC address: add -i grpc, or write http://HOST:PORT", secret.PublicURL(text))
	case protocol == GRPC && slices.Contains([]string{"dns", "ipv4", "ipv6"}, name): // gRPC's own
		return text, false, nil
	case protocol == GRPC && !slices.Contains([]string{"", "http", "https", "grpc", "grpcs"}, name):
		return "", false, fmt.Errorf("-u %s has the scheme %s: write HOST:PORT", secret.PublicURL(text), scheme)
	case protocol != GRPC:
		if strings.ContainsAny(rest, "?#") {
			return text, false, nil
		}
		address = strings.TrimSuffix(host+"/"+path, "/")
		if ok {
			address = scheme + "://" + address
		}
		return address, false, nil
	case path != "":
		return "", false, fmt.Errorf("-u %s has a path, and gRPC has none: write HOST:PORT", secret.PublicURL(text))
	default:
		host = host[strings.LastIndexByte(host, '@')+1:] // gRPC sends no user
		tls = name == "https" || name == "grpcs"
		if !portBehind.MatchString(host) && name != "" {
			host += map[bool]string{true: ":443", false: ":80"}[tls]
		}
		return host, tls, nil
	}
}

// IsLocal tells whether a server's address, as -u takes it, is one of this machine's loopback network.
func IsLocal(address string) bool {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// portBehind matches a host with a port; an IPv6 address has brackets.
var portBehind = regexp.MustCompile(`^(\[.*\]|[^:\[\]]*):[0-9]+$`)

// version matches the segment with which many APIs begin.
var version = regexp.MustCompile(`^v[0-9]+$`)

// beforeAPI is the part of a path before the first API path in it. An API path that begins with its version, such as
// v1/chat/completions, begins there; any other must be at the end of the path, at least its first segments.
func beforeAPI(path string, apis []string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i := range parts {
		for _, api := range apis {
			want := strings.Split(strings.Trim(api, "/"), "/")
			tail := parts[i:]
			if version.MatchString(want[0]) && tail[0] == want[0] || len(tail) <= len(want) && slices.Equal(tail, want[:len(tail)]) {
				return strings.Join(parts[:i], "/")
			}
		}
	}
	return strings.Join(parts, "/")
}
