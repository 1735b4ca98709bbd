// Package serve is `redline serve`: the reference server as a command.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/telemetry/otlp"
	"github.com/redline-bench/redline/internal/telemetry/served"
)

// Run is `redline serve`.
func Run(p *command.IO, args []string) (int, error) {
	ctx, stop := p.SignalContext()
	defer stop()
	o, err := parse(ctx, args, p.Secrets)
	if err == nil {
		err = o.collector.Check(p, outcome.Traces)
	}
	if err == nil {
		o.config.Die = func() { p.Exit(command.ExitError) }
		err = serve(ctx, p, o)
	}
	return 0, err
}

// serve runs the server until ctx ends or, with --exit-with-parent, until stdin ends.
func serve(ctx context.Context, p *command.IO, o *options) (err error) {
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
	if o.collector.Endpoint != "" {
		end, err := trace(ctx, p, o)
		if err != nil {
			return err
		}
		defer end()
	}
	if o.exitWithParent {
		go func() {
			_, _ = io.Copy(io.Discard, p.Stdin) // an error also means that the parent has gone
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

// trace sends the spans of traced requests to the collector. end sends the last ones and reports what was lost.
func trace(ctx context.Context, p *command.IO, o *options) (end func(), err error) {
	o.collector.Prepare(p)
	tracer, err := otlp.OpenTracer(ctx, o.collector.Config(p, outcome.Traces, otlp.Run{Service: "redline-serve", Version: p.Version}))
	if err != nil {
		return nil, fmt.Errorf("--otlp: %w", err)
	}
	sink := served.Sink(tracer.AddServed)
	o.config.Wrap, o.config.Options = sink.HTTP, sink.GRPC()
	return func() {
		sent := tracer.Close(context.WithoutCancel(ctx))
		if lost := sent.Lost(); lost != "" {
			fmt.Fprintf(p.Stderr, "warning: %s\n", cleantext.Line(lost)) // it may contain words of the collector
		}
	}, nil
}

func port(address string) string {
	_, p, _ := net.SplitHostPort(address)
	return cmp.Or(p, "0")
}
