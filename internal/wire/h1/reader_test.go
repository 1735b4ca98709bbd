package h1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// got collects what a handler is told, as text.
type got struct {
	stream bool
	data   []byte
	lines  []string
}

func (g *got) Head(*wire.Reply) bool { return g.stream }

func (g *got) Data(b []byte, _ int64) { g.data = append(g.data, b...) }

func (g *got) Reply(r *wire.Reply) {
	body := r.Body
	if g.stream {
		body = g.data
	}
	g.lines = append(g.lines, fmt.Sprintf("%d type=%s enc=%s number=%d close=%t size=%d body=%s",
		r.Status, r.Type, r.Encoding, r.Number, r.Close, r.Size, body))
	g.data = nil
}

// parse feeds the pieces, then the end of the connection, and says what came of it.
func parse(stream bool, pieces ...string) (lines []string, err error) {
	g := &got{stream: stream}
	c := newConn(nil, Config{Addr: "x:1", Number: "inference-header-content-length", MaxHead: 512, MaxBody: 1 << 20})
	c.rd.h = g
	for _, p := range pieces {
		for len(p) > 0 {
			n := copy(c.rd.space(), p)
			p = p[n:]
			if err := c.take(n, 1, 0); err != nil {
				return g.lines, err
			}
		}
	}
	if c.rd.started() {
		err = c.finish(io.EOF)
	}
	return g.lines, err
}

const infer = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: 3\r\nContent-Length: 5\r\n\r\n{}\x00ab"

func TestGoodReplies(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"length":           {infer, "200 type=application/octet-stream enc= number=3 close=false size=5 body={}\x00ab"},
		"no reason":        {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 type= enc= number=-1 close=false size=0 body="},
		"odd case, blanks": {"HTTP/1.1 404 Not  Found\r\nCONTENT-length:\t 2 \r\nConnection: Keep-Alive, CLOSE\r\n\r\nno", "404 type= enc= number=-1 close=true size=2 body=no"},
		"same length twice": {
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nno",
			"200 type= enc= number=-1 close=false size=2 body=no",
		},
		"encoding":    {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nz", "200 type= enc=gzip number=-1 close=false size=1 body=z"},
		"1.0":         {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nz", "200 type= enc= number=-1 close=true size=1 body=z"},
		"1.0 kept":    {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nz", "200 type= enc= number=-1 close=false size=1 body=z"},
		"until close": {"HTTP/1.1 200 OK\r\n\r\nall of it", "200 type= enc= number=-1 close=true size=9 body=all of it"},
		"empty, until close": {
			"HTTP/1.1 200 OK\r\n\r\n", "200 type= enc= number=-1 close=true size=0 body=",
		},
		"no content":     {"HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", "204 type= enc= number=-1 close=false size=0 body="},
		"interim":        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + infer, "200 type=application/octet-stream enc= number=3 close=false size=5 body={}\x00ab"},
		"chunked":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA ; x=y\r\n0123456789\r\n0\r\n\r\n", "200 type= enc= number=-1 close=false size=13 body=abc0123456789"},
		"chunked, empty": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", "200 type= enc= number=-1 close=false size=0 body="},
		"trailers":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", "200 type= enc= number=-1 close=false size=1 body=a"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				whole, err := parse(stream, tc.in)
				if err != nil || !cmp.Equal(whole, []string{tc.want}) {
					t.Fatalf("stream %t: got %q, %v; want %q", stream, whole, err, tc.want)
				}
				for i := range tc.in {
					if split, err := parse(stream, tc.in[:i], tc.in[i:]); err != nil || !cmp.Equal(split, whole) {
						t.Fatalf("stream %t, split at %d: got %q, %v", stream, i, split, err)
					}
				}
				if bytewise, err := parse(stream, strings.Split(tc.in, "")...); err != nil || !cmp.Equal(bytewise, whole) {
					t.Fatalf("stream %t, byte by byte: got %q, %v", stream, bytewise, err)
				}
			}
		})
	}
}

func TestSeveralReplies(t *testing.T) {
	other := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
	lines, err := parse(false, infer, infer, other, infer)
	a := "200 type=application/octet-stream enc= number=3 close=false size=5 body={}\x00ab"
	b := "200 type= enc= number=-1 close=false size=2 body=ab"
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{a, a, b, a}, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLargeBodies(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<14)
	for name, in := range map[string]string{
		"length":  fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"close":   "HTTP/1.1 200 OK\r\n\r\n" + body,
		"chunked": fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n", strings.Repeat("1000\r\n"+body[:4096]+"\r\n", len(body)/4096)),
	} {
		for _, stream := range []bool{false, true} {
			lines, err := parse(stream, in)
			if err != nil || len(lines) != 1 || !strings.HasSuffix(lines[0], "body="+body) {
				t.Errorf("%s, stream %t: %d replies, error %v", name, stream, len(lines), err)
			}
		}
	}
}

func TestBadReplies(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\n"
	for name, tc := range map[string]struct {
		in   string
		want neterr.Kind
	}{
		"http/2 settings":     {"\x00\x00\x18\x04\x00\x00\x00\x00\x00", neterr.NotHTTP},
		"http/2 preface":      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", neterr.NotHTTP},
		"version 2":           {"HTTP/2.0 200 OK\r\n\r\n", neterr.NotHTTP},
		"garbage":             {"hello there", neterr.NotHTTP},
		"tls alert":           {"\x15\x03\x01\x00\x02\x02\x46", neterr.NotHTTP},
		"version 1.2":         {"HTTP/1.2 200 OK\r\n\r\n", neterr.Malformed},
		"no code":             {"HTTP/1.1\r\n\r\n", neterr.Malformed},
		"short code":          {"HTTP/1.1 20 OK\r\n\r\n", neterr.Malformed},
		"long code":           {"HTTP/1.1 2000 OK\r\n\r\n", neterr.Malformed},
		"code 099":            {"HTTP/1.1 099 OK\r\n\r\n", neterr.Malformed},
		"code 999":            {"HTTP/1.1 999 OK\r\n\r\n", neterr.Malformed},
		"signed code":         {"HTTP/1.1 -20 OK\r\n\r\n", neterr.Malformed},
		"control in reason":   {"HTTP/1.1 200 \x01\r\n\r\n", neterr.Malformed},
		"bare newline":        {"HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", neterr.Malformed},
		"bare newline later":  {head + "A: b\nContent-Length: 0\r\n\r\n", neterr.Malformed},
		"bare return":         {head + "A: b\rContent-Length: 0\r\n\r\n", neterr.Malformed},
		"folded":              {head + "A: b\r\n c\r\n\r\n", neterr.Malformed},
		"no colon":            {head + "Content-Length 0\r\n\r\n", neterr.Malformed},
		"blank before colon":  {head + "Content-Length : 0\r\n\r\n", neterr.Malformed},
		"empty name":          {head + ": 0\r\n\r\n", neterr.Malformed},
		"nul in value":        {head + "A: \x00\r\n\r\n", neterr.Malformed},
		"negative length":     {head + "Content-Length: -1\r\n\r\n", neterr.Malformed},
		"plus length":         {head + "Content-Length: +1\r\n\r\n", neterr.Malformed},
		"hex length":          {head + "Content-Length: 0x1\r\n\r\n", neterr.Malformed},
		"list of lengths":     {head + "Content-Length: 1, 1\r\n\r\n", neterr.Malformed},
		"huge length":         {head + "Content-Length: 99999999999999999999\r\n\r\n", neterr.Malformed},
		"two lengths":         {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", neterr.Malformed},
		"length and chunked":  {head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", neterr.Malformed},
		"gzip transfer":       {head + "Transfer-Encoding: gzip, chunked\r\n\r\n", neterr.Malformed},
		"bad number":          {head + "Inference-Header-Content-Length: x\r\n\r\n", neterr.Malformed},
		"switching protocols": {"HTTP/1.1 101 Switching\r\n\r\n", neterr.Malformed},
		"endless interim":     {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 40), neterr.Malformed},
		"two replies":         {infer + infer, neterr.Malformed},
		"bytes after":         {infer + "x", neterr.Malformed},
		"large head":          {head + strings.Repeat("A: b\r\n", 200), neterr.TooLarge},
		"large header":        {head + "A: " + strings.Repeat("b", 600), neterr.TooLarge},
		"large body":          {head + "Content-Length: 2000000\r\n\r\n", neterr.TooLarge},
		"large chunk":         {head + "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", neterr.TooLarge},
		"chunk sum":           {head + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n100000\r\n", neterr.TooLarge},
		"bad chunk size":      {head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", neterr.Malformed},
		"no chunk size":       {head + "Transfer-Encoding: chunked\r\n\r\n\r\n", neterr.Malformed},
		"negative chunk":      {head + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", neterr.Malformed},
		"wide chunk size":     {head + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", neterr.Malformed},
		"long chunk line":     {head + "Transfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 5000), neterr.TooLarge},
		"chunk overrun":       {head + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", neterr.Malformed},
		"bad trailer":         {head + "Transfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n", neterr.Malformed},
		"long trailers":       {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: bcdefghijklmnopq\r\n", 100), neterr.TooLarge},
		"cut in head":         {"HTTP/1.1 20", neterr.Truncated},
		"cut in name":         {"HT", neterr.Truncated},
		"cut after interim":   {"HTTP/1.1 100 Continue\r\n\r\n", neterr.Truncated},
		"cut in body":         {head + "Content-Length: 9\r\n\r\nhalf", neterr.Truncated},
		"cut in chunk":        {head + "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf", neterr.Truncated},
		"cut before last":     {head + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", neterr.Truncated},
		"cut in trailers":     {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n", neterr.Truncated},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(how string, pieces ...string) {
				_, err := parse(false, pieces...)
				var e *neterr.Error
				if !errors.As(err, &e) || e.Kind != tc.want {
					t.Fatalf("%s: got %v, want kind %v", how, err, tc.want)
				}
				if !e.Partial || !strings.Contains(e.Error(), "x:1") {
					t.Errorf("%s: partial %t, text %q", how, e.Partial, e)
				}
			}
			check("whole", tc.in)
			if name != "two replies" && name != "bytes after" { // when split they come after the end of the reply
				check("byte by byte", strings.Split(tc.in, "")...)
			}
		})
	}
}

// FuzzReply checks that no input makes the parser panic or give different answers by how it is cut into reads,
// and that what it accepts is consistent with itself.
func FuzzReply(f *testing.F) {
	for _, s := range []string{
		infer, infer + infer, "HTTP/1.1 200 OK\r\n\r\nx", "HTTP/1.1 100 Continue\r\n\r\n" + infer,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 500 No\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc", "\x00\x00\x00\x04",
	} {
		f.Add([]byte(s), uint8(7))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		if len(in) > 1<<16 {
			return
		}
		var pieces []string
		for rest := in; len(rest) > 0; {
			n := min(len(rest), int(step%13)+1)
			pieces = append(pieces, string(rest[:n]))
			rest = rest[n:]
		}
		first, errCut := parse(false, pieces...)
		streamed, errStream := parse(true, pieces...)
		if !cmp.Equal(first, streamed) || (errCut == nil) != (errStream == nil) {
			t.Fatalf("gathered %q, %v; streamed %q, %v", first, errCut, streamed, errStream)
		}
		whole, err := parse(false, string(in))
		if err == nil && (errCut != nil || !cmp.Equal(whole, first)) {
			t.Fatalf("whole %q; cut %q, %v", whole, first, errCut)
		}
		if len(whole) > 1 {
			t.Fatalf("%d replies out of one read", len(whole))
		}
		if err == nil && len(in) > 0 && !bytes.HasPrefix(in, []byte("HTTP/1.")) {
			t.Fatalf("%q taken as HTTP", in)
		}
	})
}

// quiet is a handler that keeps nothing.
type quiet struct{}

func (quiet) Head(*wire.Reply) bool { return false }
func (quiet) Data([]byte, int64)    {}
func (quiet) Reply(*wire.Reply)     {}

// BenchmarkParse is one reply: with a head like that of the last one, which is compared, and with one that differs,
// which is parsed.
func BenchmarkParse(b *testing.B) {
	other := strings.Replace(infer, "200 OK", "200 Ok", 1)
	for name, in := range map[string][2]string{"same head": {infer, infer}, "other head": {infer, other}} {
		b.Run(name, func(b *testing.B) {
			c := newConn(nil, Config{Addr: "x:1", Number: "inference-header-content-length"})
			c.rd.h = quiet{}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := c.take(copy(c.rd.space(), in[i&1]), 1, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
