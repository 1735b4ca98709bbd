package faults

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func kserveHTTP(w wire) bool       { return w.port == "http" }
func grpc(w wire) bool             { return w.grpc() }
func bidirectional(w wire) bool    { return w.name == "gRPC stream" }
func streamPerRequest(w wire) bool { return !bidirectional(w) }
func unary(w wire) bool            { return w.grpc() && !bidirectional(w) }
func plainHTTP2(w wire) bool       { return w.http2() && !w.grpc() }
func events(w wire) bool           { return w.events() }

// parsedEvents are events whose JSON the command reads: profile takes any data for a response.
func parsedEvents(w wire) bool { return w.events() && !slices.Contains(w.args, "--service-kind") }

func oneBody(w wire) bool { return w.port == "openai" && !w.events() }

func faults() []fault {
	return append(connectionFaults(), append(http1Faults(), append(statusFaults(), append(http2Faults(), bodyFaults()...)...)...)...)
}

// writes answers with bytes and continues, closes the connection, or resets it.
func writes(b func(*reply) []byte) func(net.Conn, *reply) bool {
	return func(c net.Conn, r *reply) bool {
		_, err := c.Write(b(r))
		return err == nil
	}
}

func writesAndCloses(b func(*reply) []byte) func(net.Conn, *reply) bool {
	return func(c net.Conn, r *reply) bool {
		_, _ = c.Write(b(r))
		return false
	}
}

func writesAndResets(b func(*reply) []byte) func(net.Conn, *reply) bool {
	return func(c net.Conn, r *reply) bool {
		_, _ = c.Write(b(r))
		drop(c)
		return false
	}
}

func nothing(*reply) []byte { return nil }

// half is the reply with half of its body.
func half(r *reply) []byte {
	all := r.whole()
	return all[:len(all)-len(r.body)/2-10]
}

// connectionFaults are those of connections, whatever they carry.
func connectionFaults() []fault {
	closes := func(st *stream) { finish(st.c) }
	resets := func(st *stream) { drop(st.c) }
	return []fault{
		{name: "closes after the request", http1: writesAndCloses(nothing)},
		{name: "closes after every request", http1: writesAndCloses(nothing), always: true, class: "transport", text: "closed the connection without a reply"},
		{name: "closes after the request", http2: closes, class: "transport", text: "the server closed the connection"},
		{name: "resets after the request", http1: writesAndResets(nothing)},
		{name: "resets after every request", http1: writesAndResets(nothing), always: true, class: "transport", text: "reset the connection"},
		{name: "resets after the request", http2: resets, class: "transport", text: "reset"},
		hanging(),
		leaves(),
		{name: "closes in mid-header", http1: writesAndCloses(func(r *reply) []byte { return []byte(r.head()[:25]) }), class: "transport", text: "in the middle of a reply"},
		closesInMidBody(),
		{name: "resets in mid-body", http1: writesAndResets(half), class: "transport", text: "reset", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(false, st.body[:len(st.body)/2])
			drop(st.c)
		}},
	}
}

// hanging never answers.
func hanging() fault {
	return fault{name: "never answers", class: timeout, once: true, http2: func(*stream) {}, http1: func(c net.Conn, _ *reply) bool {
		_, _ = io.Copy(io.Discard, c)
		return false
	}}
}

func closesInMidBody() fault {
	return fault{name: "closes in mid-body", http1: writesAndCloses(half), class: "transport", text: "closed the connection", http2: func(st *stream) {
		st.head(false, st.fields)
		st.data(false, st.body[:len(st.body)/2])
		finish(st.c)
	}}
}

// leaves answers, and has the client make a new connection for the next request: by Connection: close, or by GOAWAY.
func leaves() fault {
	return fault{name: "leaves the connection after each response", always: true, http1: writesAndCloses(func(r *reply) []byte {
		r.header.Set("Connection", "close")
		return r.whole()
	}), http2: func(st *stream) {
		st.goAway(st.id, http2.ErrCodeNo)
		st.head(false, st.fields)
		st.data(st.ended, st.body)
		st.gone[st.id] = false
	}, applies: streamPerRequest}
}

// http1Faults break the framing of HTTP/1.1.
func http1Faults() []fault {
	return []fault{
		{name: "bad chunk size", http1: writes(func(r *reply) []byte {
			return []byte(r.head() + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n")
		}), class: "protocol", text: "chunk"},
		{name: "chunk without its end", http1: writes(func(r *reply) []byte {
			return append([]byte(r.head()+"Transfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n"), r.body...)
		}), class: "protocol", text: "chunk"},
		{name: "length above the body", http1: writesAndCloses(func(r *reply) []byte { return r.sized(r.body, len(r.body)+9) }), class: "transport", text: "in the middle of a reply"},
		{name: "length below the body", http1: writes(func(r *reply) []byte { return r.sized(r.body, len(r.body)/2) }), class: "protocol"},
		{name: "two lengths", http1: writes(func(r *reply) []byte {
			return append([]byte(r.head()+"Content-Length: 5\r\nContent-Length: 6\r\n\r\n"), r.body...)
		}), class: "protocol", text: "malformed"},
		{name: "not HTTP", http1: writes(func(*reply) []byte { return []byte("SSH-2.0-OpenSSH_9.6\r\n") }), class: "protocol", text: "does not answer in HTTP/1.x"},
		{name: "endless header", http1: writes(func(r *reply) []byte {
			return append([]byte(r.head()), bytes.Repeat([]byte("A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n"), 64<<10)...)
		}), class: "protocol", text: "too large"},
	}
}

// statusFaults are answers with a status that is no success.
func statusFaults() []fault {
	status := func(code, header, body, want string) fault {
		return fault{
			name: "status " + code, class: "server " + code, text: want,
			http1: writes(func(*reply) []byte {
				if header != "" {
					header = strings.TrimSuffix(header, "\r\n") + "\r\n"
				}
				return []byte("HTTP/1.1 " + code + " x\r\n" + header + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
			}),
			http2: func(st *stream) {
				fields := []hpack.HeaderField{{Name: ":status", Value: code}}
				if name, value, ok := strings.Cut(header, ": "); ok {
					fields = append(fields, hpack.HeaderField{Name: strings.ToLower(name), Value: strings.TrimSpace(value)})
				}
				st.head(false, fields)
				st.data(true, []byte(body))
			},
			applies: func(w wire) bool { return !w.grpc() },
		}
	}
	return []fault{
		status("503", "Retry-After: 7", "overloaded", "Retry-After 7"),
		status("429", "Retry-After: 7", "slow down", "slow down"),
		status("302", "Location: /elsewhere", "", "302"),
		status("204", "", "", "204"),
	}
}

// http2Faults break the rules of HTTP/2, or use those that end streams.
func http2Faults() []fault {
	return []fault{
		{name: "GOAWAY before the stream", http2: func(st *stream) { st.goAway(st.id-1, http2.ErrCodeNo) }},
		{name: "GOAWAY with an error", http2: func(st *stream) { st.goAway(st.id, http2.ErrCodeInternal); finish(st.c) }, class: "transport", text: "INTERNAL_ERROR"},
		{name: "RST_STREAM", http2: func(st *stream) { st.resetStream(http2.ErrCodeInternal) }, class: "transport", text: "INTERNAL_ERROR"},
		{name: "REFUSED_STREAM", http2: func(st *stream) { st.resetStream(http2.ErrCodeRefusedStream) }, applies: streamPerRequest},
		{name: "REFUSED_STREAM after responses", http2: func(st *stream) { st.resetStream(http2.ErrCodeRefusedStream) }, class: "transport", text: "REFUSED_STREAM", applies: bidirectional},
		{name: "REFUSED_STREAM for ever", http2: func(st *stream) { st.resetStream(http2.ErrCodeRefusedStream) }, always: true, tries: 4, class: "transport", text: "REFUSED_STREAM", applies: streamPerRequest},
		{name: "RST_STREAM in mid-body", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(false, st.body)
			st.resetStream(http2.ErrCodeInternal)
		}, class: "transport", text: "INTERNAL_ERROR", applies: streamPerRequest},
		{name: "bad HPACK", http2: func(st *stream) {
			st.frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, st.id, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x0f})
		}, class: "protocol"},
		{name: "oversize frame", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(false, make([]byte, 1<<20+1))
		}, class: "protocol"},
		{name: "data of a stream that was not opened", http2: func(st *stream) { st.frame(http2.FrameData, 0, st.id+1000, []byte("x")) }, class: "protocol"},
		{name: "bad SETTINGS", http2: func(st *stream) { st.frame(http2.FrameSettings, 0, 0, []byte("12345")) }, class: "protocol"},
		{name: "DATA before HEADERS", http2: func(st *stream) { st.data(true, []byte("x")) }, class: "protocol", applies: streamPerRequest},
		{name: "no status", http2: func(st *stream) { st.data(true, nil) }, class: "protocol", applies: bidirectional},
		{name: "trailers missing", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(true, st.body)
		}, class: "protocol", applies: unary},
		{name: "UNAVAILABLE", http2: func(st *stream) { st.status("14", "going down") }, class: "server", status: "14", text: "going down", applies: grpc},
		{name: "RESOURCE_EXHAUSTED", http2: func(st *stream) { st.status("8", "queue is full") }, class: "server", status: "8", text: "queue is full", applies: grpc},
		{name: "HTTP status 503 in place of gRPC", http2: func(st *stream) {
			st.head(true, []hpack.HeaderField{{Name: ":status", Value: "503"}})
		}, class: "protocol", text: "503", applies: unary},
		{name: "message longer than its length", http2: func(st *stream) {
			st.head(false, st.fields)
			msg := bytes.Clone(st.body)
			binary.BigEndian.PutUint32(msg[1:], uint32(len(msg)+100))
			st.data(false, msg)
			st.fields = nil
			st.status("0", "")
		}, class: "protocol", applies: unary},
	}
}

// bodyFaults are responses that are framed well and hold nonsense.
func bodyFaults() []fault {
	return []fault{
		{name: "bad JSON", http1: writes(func(r *reply) []byte { return r.sized([]byte(`{"id":"1",`), 10) }), class: "protocol", applies: func(w wire) bool { return kserveHTTP(w) || oneBody(w) }},
		{name: "bad JSON", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(true, []byte(`{"id":"1",`))
		}, class: "protocol", applies: func(w wire) bool { return plainHTTP2(w) && oneBody(w) }},
		{name: "outputs of a wrong size", http1: writes(func(r *reply) []byte {
			body := bytes.Replace(r.body, []byte(`"binary_data_size":64`), []byte(`"binary_data_size":60`), 1)
			return r.sized(body, len(body)-4)[:len(r.sized(body, len(body)))-4]
		}), class: "protocol", applies: kserveHTTP},
		{name: "bad protobuf", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(false, []byte{0, 0, 0, 0, 3, 0xff, 0xff, 0xff})
			st.fields = nil
			st.status("0", "")
		}, class: "protocol", applies: unary},
		{name: "ends in mid-event", http1: writes(func(r *reply) []byte { return r.chunked(true, r.body[:len(r.body)/2-7]) }), class: "protocol", applies: events},
		{name: "ends in mid-event", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(true, st.body[:len(st.body)-9])
		}, class: "protocol", applies: events},
		{name: "event of bad JSON", http1: writes(func(r *reply) []byte { return r.chunked(true, []byte("data: {\"choices\":[\n\ndata: [DONE]\n\n")) }), class: "protocol", applies: parsedEvents},
		{name: "event of bad JSON", http2: func(st *stream) {
			st.head(false, st.fields)
			st.data(true, []byte("data: {\"choices\":[\n\ndata: [DONE]\n\n"))
		}, class: "protocol", applies: parsedEvents},
	}
}
