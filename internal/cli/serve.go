package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/redline-bench/redline/internal/refserver"
)

// runServe is `redline serve`.
func runServe(p *IO, args []string) (int, error) {
	ctx, stop := p.signalContext()
	defer stop()
	o, err := parseServe(ctx, args, p.Secrets)
	if err == nil {
		o.config.Die = func() { os.Exit(exitError) }
		err = p.serve(ctx, o)
	}
	if err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// serve runs the server until ctx ends, or until stdin ends where that was asked for.
func (p *IO) serve(ctx context.Context, o *serveOptions) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.requestLog != "" {
		file, err := p.Files.CreateLog(o.requestLog)
		if err != nil {
			return fmt.Errorf("open the request log: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		o.config.RequestLog = file
	}
	if o.exitWithParent {
		go func() {
			_, _ = io.Copy(io.Discard, p.Stdin) // whatever ends it, the parent is gone
			cancel()
		}()
	}
	server, err := refserver.Start(ctx, o.config)
	if err != nil {
		return err
	}
	a := server.Addresses()
	_, err = fmt.Fprintf(p.Stdout, "ready {\"http\":%s,\"grpc\":%s,\"metrics\":%s,\"openai\":%s,\"torchserve\":%s,\"tfserving\":%s}\n",
		port(a.HTTP), port(a.GRPC), port(a.Metrics), port(a.OpenAI), port(a.TorchServe), port(a.TFServing))
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, server.Close())
}

func port(address string) string {
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		return "0"
	}
	return p
}
