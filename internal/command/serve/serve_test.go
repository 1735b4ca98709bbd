package serve_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/cli"
	"github.com/redline-bench/redline/internal/command"
)

func TestServeEndsWithItsParent(t *testing.T) {
	stdin, parent := io.Pipe()
	stdout, lines := io.Pipe()
	code := make(chan int, 1)
	go func() {
		p := &command.IO{Args: strings.Fields("redline serve --exit-with-parent --http-port 0 --grpc-port=0 --metrics-port 0"), Stdin: stdin, Stdout: lines, Stderr: io.Discard}
		code <- cli.Main(p)
	}()
	line := make([]byte, 512)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	var ports map[string]int
	text, ok := strings.CutPrefix(string(line[:n]), "ready ")
	if err := json.Unmarshal([]byte(text), &ports); !ok || err != nil || ports["http"] == 0 || ports["grpc"] == 0 || ports["metrics"] == 0 {
		t.Errorf("not a ready line: %q (%v)", line[:n], err)
	}
	if err := parent.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != command.ExitOK {
		t.Errorf("exit code %d", got)
	}
}

func TestServeRefusesNonsense(t *testing.T) {
	for _, args := range []string{
		"--bogus", "stray", "--http-port 65536", "--ttft -1s", "--http-max-input-size -1", "--max-unpacked-size 1Gx", "--delay simple", "--delay nope=1ms --http-port 0 --grpc-port 0 --metrics-port 0", "--http-port x",
		"--model-control-mode poll", "--otlp-ca ca.pem", "--tls-cert only.pem", "--fault simple=foo --http-port 0 --grpc-port 0 --metrics-port 0",
	} {
		var stderr bytes.Buffer
		p := &command.IO{Args: strings.Fields("redline serve " + args), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr, Getenv: func(string) string { return "" }}
		if code := cli.Main(p); code != command.ExitError {
			t.Errorf("%s: exit code %d", args, code)
		}
		if text := stderr.String(); strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "redline serve: ") {
			t.Errorf("%s: stderr %q", args, text)
		}
	}
}
