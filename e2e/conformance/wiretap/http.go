package wiretap

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Proxy listens on a loopback address and passes on to another.
type Proxy struct {
	Addr string
	stop func()
}

// Close ends the proxy.
func (p *Proxy) Close() { p.stop() }

// HTTP starts a proxy for HTTP/1.1.
func HTTP(ctx context.Context, to string, log *Log) (*Proxy, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { passHTTP(ctx, c, to, log) })
		}
	})
	return &Proxy{Addr: ln.Addr().String(), stop: func() {
		cancel()
		_ = ln.Close()
		conns.Wait()
	}}, nil
}

// passHTTP carries one connection. Requests are read as such, answers are only copied.
func passHTTP(ctx context.Context, client net.Conn, to string, log *Log) {
	defer client.Close()
	var d net.Dialer
	server, err := d.DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})
	defer stop()
	call := log.call()
	var answers sync.WaitGroup
	answers.Go(func() {
		_, _ = io.Copy(noting{client, func() { log.add(&Request{Call: call, Answer: true}) }}, server)
		_ = client.Close()
	})
	in := bufio.NewReader(client)
	for {
		r, raw, err := readRequest(in)
		if err != nil {
			break
		}
		r.Call = call
		log.add(r)
		if _, err := server.Write(raw); err != nil {
			break
		}
	}
	_ = server.Close()
	answers.Wait()
}

// noting tells of each piece before it is written.
type noting struct {
	io.Writer
	note func()
}

func (n noting) Write(b []byte) (int, error) {
	n.note()
	return n.Writer.Write(b)
}

// readRequest reads one request with a Content-Length, or none.
func readRequest(in *bufio.Reader) (r *Request, raw []byte, err error) {
	r = &Request{}
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, nil, err
		}
		raw = append(raw, line...)
		line = strings.TrimRight(line, "\r\n")
		switch name, value, _ := strings.Cut(line, ":"); {
		case r.Line == "":
			r.Line = strings.TrimSuffix(line, " HTTP/1.1")
		case line == "":
			r.Body = make([]byte, length)
			_, err := io.ReadFull(in, r.Body)
			return r, append(raw, r.Body...), err
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, nil, err
			}
			r.Headers = append(r.Headers, line)
		default:
			r.Headers = append(r.Headers, line)
		}
	}
}
