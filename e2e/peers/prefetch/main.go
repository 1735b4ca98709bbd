// Command prefetch installs every peer that `make test` downloads into the user's cache folder, a few at a time, and prints
// one line for each. With -heavy it installs those of `make test-heavy` too. It ends with 1 if one could not be installed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/tokenizer"
	"github.com/redline-bench/redline/e2e/vllm"
	"github.com/redline-bench/redline/internal/cleantext"
)

// atOnce is how many installations run at the same time: most of their time is download.
const atOnce = 3

// peer is one installation.
type peer struct {
	name    string
	install func(context.Context) error
}

// of makes a peer of a function that also returns what was installed.
func of[T any](name string, install func(context.Context) (T, error)) peer {
	return peer{name, func(ctx context.Context) error {
		_, err := install(ctx)
		return err
	}}
}

// list makes a peer of a list of Python packages.
func list(name, file string) peer {
	return peer{name, func(ctx context.Context) error {
		_, err := peers.InstallList(ctx, file)
		return err
	}}
}

// all are the peers, the largest first.
func all(heavy bool) []peer {
	peers := []peer{
		of("Triton and perf_analyzer", peers.Install),
		of("tokenizers and files of models", tokenizer.Install),
		of("Chromium", peers.InstallChromium),
		list("GenAI-Perf", peers.GenAIPerf),
		of("TorchServe", peers.InstallTorchServe),
		of("llama.cpp", peers.InstallLlama),
		of("Python clients", peers.InstallClients),
		of("gRPC tools for Python", peers.InstallGRPCTools),
		of("TensorFlow Serving's protocol", peers.InstallServingAPI),
		of("Open MPI", peers.InstallMPI),
		of("zsh", peers.InstallZsh),
		of("fish", peers.InstallFish),
		of("nginx", peers.InstallNginx),
		of("Prometheus", peers.InstallPrometheus),
		of("hypercorn", peers.InstallHypercorn),
		of("rpm", peers.InstallRPM),
		list("MkDocs", peers.Site),
		list("MLServer", peers.MLServer),
		list("KServe's runtime", peers.KServe),
		of("pandas and validators of JSON", peers.InstallValidators),
		of("helm", peers.InstallHelm),
		of("schemas of Kubernetes", peers.InstallKubernetesSchemas),
	}
	if heavy {
		peers = append(peers, heavyOnly()...)
	}
	return peers
}

func heavyOnly() []peer {
	return []peer{
		of("vLLM", vllm.Install),
		list("AIPerf", peers.AIPerf), list("Model Analyzer", peers.ModelAnalyzer),
		of("Ruby", peers.InstallRuby), of("QEMU", peers.InstallQEMU), of("OpenTelemetry Collector", peers.InstallCollector),
	}
}

func main() {
	heavy := flag.Bool("heavy", false, "install the peers of make test-heavy too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if err := peers.Forget(); err != nil {
		fmt.Fprintln(os.Stderr, "prefetch:", err)
	}
	ok := installAll(ctx, all(*heavy))
	stop()
	if !ok {
		os.Exit(1)
	}
}

// installAll installs the peers and reports whether all of them are there.
func installAll(ctx context.Context, list []peer) bool {
	var wait sync.WaitGroup
	var line sync.Mutex
	ok := true
	free := make(chan struct{}, atOnce)
	for _, p := range list {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			begun := time.Now()
			err := p.install(ctx)
			line.Lock()
			defer line.Unlock()
			if err != nil {
				ok = false
				fmt.Printf("peer %s NOT INSTALLED: %s\n", p.name, cleantext.Line(err.Error()))
				return
			}
			fmt.Printf("peer %s ready (%.0f s)\n", p.name, time.Since(begun).Seconds())
		})
	}
	wait.Wait()
	return ok
}
