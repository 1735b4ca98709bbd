package null

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/redline-bench/redline/internal/refserver"
)

// behind is the reference server that serves what has no kept response.
type behind struct {
	server *refserver.Server
	web    http.Transport
	rpc    *grpc.ClientConn
}

func newBehind(s *refserver.Server) (*behind, error) {
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(maxWindow)))
	if err != nil {
		return nil, err
	}
	return &behind{server: s, web: http.Transport{DisableCompression: true}, rpc: conn}, nil
}

func (b *behind) close() error {
	b.web.CloseIdleConnections()
	return errors.Join(b.rpc.Close(), b.server.Close())
}

// webAnswer is a response over HTTP.
type webAnswer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends the bytes of an HTTP request.
func (b *behind) ask(whole []byte) (*webAnswer, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(whole)))
	if err != nil {
		return nil, err
	}
	req.URL.Scheme, req.URL.Host = "http", b.server.Addresses().HTTP
	resp, err := b.web.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &webAnswer{resp.StatusCode, resp.Header, body}, err
}

// append writes the response in HTTP/1.1.
func (a *webAnswer) append(out []byte) []byte {
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	b := bytes.NewBuffer(out)
	b.WriteString("HTTP/1.1 " + strconv.Itoa(a.status) + " " + http.StatusText(a.status) + lineEnd)
	_ = a.header.Write(b) // into memory
	b.WriteString(lineEnd)
	b.Write(a.body)
	return b.Bytes()
}

// call sends one message to a method of gRPC.
func (b *behind) call(path string, message []byte) (answer []byte, err error) {
	err = b.rpc.Invoke(context.Background(), path, &message, &answer)
	return answer, err
}

// rawCodec passes messages on as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}
