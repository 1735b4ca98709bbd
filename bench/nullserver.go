package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/redline-bench/redline/bench/null"
	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/calibrate/standin"
)

// null starts the null server on a core of its own, nullOn on the given ones.
func (e *env) null() (*binary.Server, error) { return e.nullOn(serverCore, false) }

func (e *env) nullOn(cores string, secure bool) (*binary.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return binary.Serve("", pinned(cores, self, "null", fmt.Sprintf("--tls=%t", secure))...)
}

// runNull is the null server in a process of its own. Like `redline serve`, it prints a line with its ports when it listens. It ends
// when it is told to.
func runNull(args []string) error {
	flags := flag.NewFlagSet("null", flag.ContinueOnError)
	secure := flags.Bool("tls", false, "listen with TLS")
	for _, name := range []string{"http-port", "grpc-port", "metrics-port"} {
		flags.Int(name, 0, "always 0, a free port")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var cfg *tls.Config
	if *secure {
		text, err := standin.SelfSigned()
		if err != nil {
			return err
		}
		pair, err := tls.X509KeyPair(text, text)
		if err != nil {
			return err
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	server, err := null.Start(ctx, cfg)
	if err != nil {
		return err
	}
	port := func(address string) string {
		_, port, _ := net.SplitHostPort(address) // an address of a listener
		return port
	}
	fmt.Printf("ready {\"http\":%s,\"grpc\":%s,\"metrics\":%s}\n", port(server.HTTP), port(server.GRPC), port(server.Metrics))
	<-ctx.Done()
	return server.Close()
}
