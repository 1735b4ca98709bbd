package flags

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

func (r *raw) transportRows() []option.Row {
	t := &r.plan.Target
	return option.Group("Transport: connections, headers and encryption", append([]option.Row{
		{
			Short: 'H', Word: "header", Arg: "'NAME: VALUE'", Repeat: true, Secret: secret.Header,
			Help: "HTTP header or gRPC metadata to send with every request, such as an authorization token",
			To:   option.Func(r.addHeader),
		}, {
			Long: "streaming",
			Help: "gRPC: send requests over a bidirectional stream. Decoupled models need it. Servers other than Triton may have a stream for each request, also over HTTP (infer_stream)",
			To:   option.Switch(&t.Streaming),
		}, {
			Long: "grpc-compression-algorithm", Arg: "NAME", Default: "none",
			Help: "gRPC: compression of requests: none, gzip or deflate. Saves network traffic, needs CPU time on both sides",
			To:   option.Word(&t.Compression, "none", "gzip", "deflate"),
		}, {
			Long: "connections", Arg: "N", RedlineOnly: true,
			Help: "gRPC and HTTP/2: number of connections; 0 chooses. Use more if one connection is the bottleneck, or if a load " +
				"balancer distributes connections",
			To: option.Int(&t.Connections, 0),
		}, {
			Long: "source-addresses", Arg: "A,B,...", RedlineOnly: true,
			Help: "HTTP/1.1: local addresses of the connections, used in turn, such as 127.0.0.1,127.0.0.2. Each address has its " +
				"own ports. For a server on this machine, addresses are added if one does not have enough ports",
			To: option.Func(r.setSources),
		}, {
			Long: "request-timeout", Arg: "TIME", RedlineOnly: true, Default: "10m",
			Help: "time limit of a request, such as 500ms, 30s or 2m; a request that takes longer fails",
			To:   option.TimeAbove0(&t.Timeout, time.Second),
		}, {
			Long: "max-response-bytes", Arg: "SIZE", RedlineOnly: true, Default: "32 MiB, or what the model's outputs need",
			Help: "size limit of a response, decompressed and with all messages of a stream; a request with a larger response " +
				"fails. Limits the memory that a server can make the client use",
			To: option.Bytes(&t.MaxResponse, 1, plan.MostResponse),
		}, {
			Long: "request-parameter", Arg: "NAME:VALUE:TYPE", Repeat: true, Secret: secret.Typed,
			Help: "gRPC: custom parameter of every request; TYPE is string, int or bool",
			To:   option.Func(r.addParameter),
		},
	}, r.tlsRows()...))
}

func (r *raw) tlsRows() []option.Row {
	file := func(to *string, long, help string) option.Row {
		return option.Row{Long: long, Arg: "FILE", Help: help, To: existing(to)}
	}
	encoding := func(to *string, long, help string) option.Row {
		return option.Row{Long: long, Arg: "TYPE", Help: help, To: option.Word(to, "PEM", "DER")}
	}
	return []option.Row{
		{Long: "ssl-grpc-use-ssl", Help: "gRPC: use TLS", To: option.Switch(&r.grpcTLS.GRPC)},
		file(&r.grpcTLS.CAFile, "ssl-grpc-root-certifications-file", "gRPC: PEM certificates of the authorities to trust, instead of the system's"),
		file(&r.grpcTLS.KeyFile, "ssl-grpc-private-key-file", "gRPC: PEM private key of this client, for servers that ask who calls"),
		file(&r.grpcTLS.CertFile, "ssl-grpc-certificate-chain-file", "gRPC: PEM certificate chain of this client"),
		{
			Long: "ssl-https-verify-peer", Arg: "0|1", Default: "1",
			Help: "HTTPS: 0 accepts any certificate, for test servers with a self-signed one",
			To: option.Func(func(v string) error {
				n, err := oneOf(v, "0", "1")
				r.httpTLS.SkipVerifyPeer = n == 0
				return err
			}).Of("0", "1"),
		},
		{
			Long: "ssl-https-verify-host", Arg: "0|1|2", Default: "2",
			Help: "HTTPS: 0 accepts a certificate that names another host; 1 and 2 do not",
			To: option.Func(func(v string) error {
				n, err := oneOf(v, "0", "1", "2")
				r.httpTLS.SkipVerifyHost, r.httpTLS.VerifyHostLevel = n == 0, n
				return err
			}).Of("0", "1", "2"),
		},
		file(&r.httpTLS.CAFile, "ssl-https-ca-certificates-file", "HTTPS: certificates of the authorities to trust, instead of the system's"),
		file(&r.httpTLS.CertFile, "ssl-https-client-certificate-file", "HTTPS: certificate of this client, for servers that ask who calls"),
		encoding(&r.httpTLS.CertType, "ssl-https-client-certificate-type", "HTTPS: how that certificate is encoded: PEM or DER"),
		file(&r.httpTLS.KeyFile, "ssl-https-private-key-file", "HTTPS: private key of this client"),
		encoding(&r.httpTLS.KeyType, "ssl-https-private-key-type", "HTTPS: how that key is encoded: PEM or DER"),
	}
}

// addHeader splits at the first colon and keeps the value as it is, leading space included.
func (r *raw) addHeader(v string) error {
	name, value, ok := strings.Cut(v, ":")
	if !ok || name == "" || strings.ContainsAny(v, "\r\n") {
		return fmt.Errorf("is 'Name: value', on one line, not %q", v)
	}
	r.plan.Target.Headers = append(r.plan.Target.Headers, plan.Header{Name: name, Value: value})
	return nil
}

func (r *raw) addParameter(v string) error {
	parts := strings.Split(v, ":")
	if len(parts) != 3 {
		return fmt.Errorf("is NAME:VALUE:TYPE, such as max_tokens:256:int, not %q", v)
	}
	p := plan.Parameter{Name: parts[0], Value: parts[1], Type: strings.ToLower(parts[2])}
	if r.compat && p.Type == "bool" {
		p.Value = strconv.FormatBool(p.Value == "true") // what is not true is false
	}
	r.plan.Target.Parameters = append(r.plan.Target.Parameters, p)
	return nil
}

func (r *raw) setSources(v string) error {
	for text := range strings.SplitSeq(v, ",") {
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("are IP addresses, and %q is none", text)
		}
		r.plan.Target.Sources = append(r.plan.Target.Sources, a.String())
	}
	return nil
}
