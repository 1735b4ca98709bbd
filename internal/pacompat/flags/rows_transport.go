package flags

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

func transportRows() []Row {
	return append([]Row{
		{
			Short: 'H', Arg: "'NAME: VALUE'", Section: Transport, Repeat: true, Secret: secret.Header,
			Help: "HTTP header or gRPC metadata to send with every request, such as an authorization token.",
			set:  addHeader,
		}, {
			Long: "streaming", Section: Transport,
			Help: "gRPC: send requests over a bidirectional stream. Decoupled models need it.",
			set:  flag(func(r *raw) *bool { return &r.plan.Target.Streaming }),
		}, {
			Long: "grpc-compression-algorithm", Arg: "NAME", Section: Transport, Default: "none",
			Hint: values("none", "gzip", "deflate"),
			Help: "gRPC: compression of requests: none, gzip or deflate. Saves network traffic, needs CPU time on both sides.",
			set: func(r *raw, v string) error {
				r.compressionSet = true
				return choice("--grpc-compression-algorithm", "The available options are 'gzip', 'deflate', or 'none'.",
					func(r *raw) *string { return &r.plan.Target.Compression }, "none", "gzip", "deflate")(r, v)
			},
		}, {
			Long: "connections", Arg: "N", Section: Transport, Face: RedlineOnly, Default: "0",
			Help: "gRPC and HTTP/2: number of connections; 0 chooses. Use more if one connection is the bottleneck, or if a load " +
				"balancer distributes connections.",
			set: integer(0, "--connections must be 0 or more", func(r *raw) *int { return &r.plan.Target.Connections }),
		}, {
			Long: "source-addresses", Arg: "A,B,...", Section: Transport, Face: RedlineOnly,
			Help: "HTTP/1.1: local addresses of the connections, used in turn, such as 127.0.0.1,127.0.0.2. Each address has its " +
				"own ports. For a server on this machine, addresses are added if one does not have enough ports.",
			set: setSources,
		}, {
			Long: "request-timeout", Arg: "DURATION", Section: Transport, Face: RedlineOnly, Default: "600s",
			Help: "Time limit of a request, such as 500ms, 30s or 2m; a request that takes longer fails.",
			set:  setTimeout,
		}, {
			Long: "max-response-bytes", Arg: "N", Section: Transport, Face: RedlineOnly, Default: "32 MiB, or what the model's outputs need", Unit: "bytes",
			Help: "Size limit of a response, decompressed and with all messages of a stream; a request with a larger response " +
				"fails. Limits the memory that a server can make the client use.",
			set: setMaxResponse,
		}, {
			Long: "request-parameter", Arg: "NAME:VALUE:TYPE", Section: Transport, Repeat: true, Secret: secret.Pair,
			Help: "gRPC: custom parameter of every request; TYPE is string, int or bool.",
			set:  addParameter,
		},
	}, tlsRows()...)
}

func tlsRows() []Row {
	file := func(long, help string, dst func(*raw) *string) Row {
		return Row{
			Long: long, Arg: "FILE", Section: Transport, Hint: files(), Help: help,
			set: existing("Failed to parse --"+long+". The value must be a valid file path.", dst),
		}
	}
	encoding := func(long, help string, dst func(*raw) *string) Row {
		return Row{
			Long: long, Arg: "TYPE", Section: Transport, Default: "PEM", Hint: values("PEM", "DER"), Help: help,
			set: choice("--"+long, "The available options are 'PEM' or 'DER'.", dst, "PEM", "DER"),
		}
	}
	return []Row{
		{
			Long: "ssl-grpc-use-ssl", Section: Transport,
			Help: "gRPC: use TLS.",
			set:  flag(func(r *raw) *bool { return &r.grpcTLS.GRPC }),
		},
		file("ssl-grpc-root-certifications-file", "gRPC: PEM certificates of the authorities to trust, instead of the system's.",
			func(r *raw) *string { return &r.grpcTLS.CAFile }),
		file("ssl-grpc-private-key-file", "gRPC: PEM private key of this client, for servers that ask who calls.",
			func(r *raw) *string { return &r.grpcTLS.KeyFile }),
		file("ssl-grpc-certificate-chain-file", "gRPC: PEM certificate chain of this client.",
			func(r *raw) *string { return &r.grpcTLS.CertFile }),
		{
			Long: "ssl-https-verify-peer", Arg: "0|1", Section: Transport, Default: "1", Hint: values("0", "1"),
			Help: "HTTPS: 0 accepts any certificate, for test servers with a self-signed one.",
			set: func(r *raw, v string) error {
				n := cxx.Atol(v)
				if n != 0 && n != 1 {
					return usagef("Failed to parse --ssl-https-verify-peer. The value must be either 0 or 1.")
				}
				r.httpTLS.SkipVerifyPeer = n == 0
				return nil
			},
		},
		{
			Long: "ssl-https-verify-host", Arg: "0|1|2", Section: Transport, Default: "2", Hint: values("0", "1", "2"),
			Help: "HTTPS: 0 accepts a certificate that names another host; 1 and 2 do not.",
			set: func(r *raw, v string) error {
				n := cxx.Atol(v)
				if n < 0 || n > 2 {
					return usagef("Failed to parse --ssl-https-verify-host. The value must be either 0, 1, or 2.")
				}
				r.httpTLS.SkipVerifyHost, r.httpTLS.VerifyHostLevel = n == 0, int(n)
				return nil
			},
		},
		file("ssl-https-ca-certificates-file", "HTTPS: certificates of the authorities to trust, instead of the system's.",
			func(r *raw) *string { return &r.httpTLS.CAFile }),
		file("ssl-https-client-certificate-file", "HTTPS: certificate of this client, for servers that ask who calls.",
			func(r *raw) *string { return &r.httpTLS.CertFile }),
		encoding("ssl-https-client-certificate-type", "HTTPS: how that certificate is encoded: PEM or DER.",
			func(r *raw) *string { return &r.httpTLS.CertType }),
		file("ssl-https-private-key-file", "HTTPS: private key of this client.",
			func(r *raw) *string { return &r.httpTLS.KeyFile }),
		encoding("ssl-https-private-key-type", "HTTPS: how that key is encoded: PEM or DER.",
			func(r *raw) *string { return &r.httpTLS.KeyType }),
	}
}

// addHeader splits at the first colon and keeps the value as it is, leading space included.
func addHeader(r *raw, v string) error {
	name, value, ok := strings.Cut(v, ":")
	if !ok || name == "" || strings.ContainsAny(v, "\r\n") {
		return line("Failed to parse -H. A header is written 'Name: value', on one line: %q", v)
	}
	r.plan.Target.Headers = append(r.plan.Target.Headers, plan.Header{Name: name, Value: value})
	return nil
}

func addParameter(r *raw, v string) error {
	parts := strings.Split(v, ":")
	if len(parts) != 3 {
		return usagef("Failed to parse --request-parameter. The value does not match <name:value:type>.")
	}
	p := plan.Parameter{Name: parts[0], Value: parts[1], Type: strings.ToLower(parts[2])}
	if r.face == plan.PerfAnalyzer {
		p.Value = leniently(p)
	}
	r.plan.Target.Parameters = append(r.plan.Target.Parameters, p)
	return nil
}

// leniently reads a parameter as C++ does: what is not true is false, and a number ends where its digits do.
func leniently(p plan.Parameter) string {
	switch p.Type {
	case "bool":
		return strconv.FormatBool(p.Value == "true")
	case "int":
		if n, err := cxx.Stoi(p.Value); err == nil {
			return strconv.Itoa(n)
		}
	}
	return p.Value
}

func setSources(r *raw, v string) error {
	for text := range strings.SplitSeq(v, ",") {
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return usagef("--source-addresses: %q is not an IP address", text)
		}
		r.plan.Target.Sources = append(r.plan.Target.Sources, a.String())
	}
	return nil
}
