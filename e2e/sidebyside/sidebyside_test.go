// Package sidebyside_test sends the same requests, most of them wrong, to a real Triton and to `redline serve`, with the same models,
// and compares the status and the responses to good ones. The texts of errors may differ.
package sidebyside_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// two are the servers to compare, started once.
type two struct {
	triton *peers.Triton
	ours   *binary.Server
}

// both starts the servers, or ends the test.
func both(t *testing.T) *two {
	t.Helper()
	if testing.Short() {
		t.Skip("short")
	}
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "answers to wrong requests beside a real Triton", err, "python3 with venv")
	}
	bin := binary.Built(t)
	var s two
	var failed error
	var wait sync.WaitGroup
	tritonDir := t.TempDir()
	wait.Go(func() { s.triton, failed = p.StartTriton(t.Context(), tritonDir) })
	s.ours, err = binary.StartServer(t.TempDir(), bin, "--model-repository", repository(t))
	wait.Wait()
	if failed == nil {
		t.Cleanup(s.triton.Stop)
	}
	if err == nil {
		t.Cleanup(s.ours.Stop)
	}
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return &s
}

// question is one request to both servers.
type question struct {
	name string
	// why a good response may differ; the status may not.
	why string
	// ask sends the request to the server whose addresses are given.
	ask func(ctx context.Context, http, grpc string) answer
}

// answer is what a server says: a status, and the text of an error or the body of a good response.
type answer struct {
	status, text string
	good         bool
}

func (a answer) String() string { return fmt.Sprintf("%s %q", a.status, a.text) }

const (
	// A crash of Triton says nothing of Redline: all questions are asked again, of new servers.
	tries = 3
	// One response, or the end of a crash, takes far less.
	patience = 2 * time.Minute
)

// compare asks both servers everything and compares the responses, each in a test of its own.
func compare(t *testing.T, questions []question) {
	t.Helper()
	for range tries {
		s := both(t)
		wants, gots, err := s.ask(t.Context(), questions)
		if err != nil {
			t.Logf("PEER CRASHED: %v", err)
			continue
		}
		for i, q := range questions {
			t.Run(strings.ReplaceAll(q.name, " ", "_"), func(t *testing.T) {
				if want, got := wants[i], gots[i]; want.status != got.status || want.good && q.why == "" && !sameBody(want.text, got.text) {
					t.Errorf("\nTriton:  %v\nredline: %v", want, got)
				}
			})
		}
		return
	}
	t.Fatalf("the real Triton crashed %d times", tries)
}

// sameBody compares two bodies: JSON by its values, whose order and form may differ, and what follows JSON byte by byte.
func sameBody(a, b string) bool {
	read := func(text string) (v any, rest string) {
		dec := json.NewDecoder(strings.NewReader(text))
		if dec.Decode(&v) != nil {
			return nil, text
		}
		return v, text[dec.InputOffset():]
	}
	v, restA := read(a)
	w, restB := read(b)
	return cmp.Equal(v, w) && restA == restB
}

// ask returns the responses of both servers, or how Triton crashed.
func (s *two) ask(ctx context.Context, questions []question) (wants, gots []answer, err error) {
	for _, q := range questions {
		once, cancel := context.WithTimeout(ctx, patience)
		wants = append(wants, q.ask(once, s.triton.HTTP, s.triton.GRPC))
		gots = append(gots, q.ask(once, s.ours.HTTP, s.ours.GRPC))
		cancel()
		if err := s.triton.Err(); err != nil {
			return nil, nil, err
		}
	}
	// The last question may have ended it.
	for end := time.Now().Add(patience); peers.Status(ctx, "http://"+s.triton.HTTP+"/v2/health/live") != http.StatusOK; time.Sleep(100 * time.Millisecond) {
		if err := s.triton.Err(); err != nil {
			return nil, nil, err
		}
		if time.Now().After(end) {
			return nil, nil, errors.New("tritonserver neither answers nor ends")
		}
	}
	return wants, gots, nil
}

var pythonModel = regexp.MustCompile(`backend: "python"\ndefault_model_filename: "(.+)\.py"`)

// repository lays out Triton's test models over the backends of the reference server, which have the same names as the
// Python files.
func repository(t *testing.T) string {
	t.Helper()
	flat, dir := t.TempDir(), t.TempDir()
	configs, err := filepath.Glob(filepath.Join(binary.Root(), "e2e", "models", "*.pbtxt"))
	if err != nil || len(configs) == 0 {
		t.Fatal("no models: ", err)
	}
	for _, config := range configs {
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if code := pythonModel.FindSubmatch(text); code != nil && !slices.Contains([]string{"identity", "add_sub", "accumulate", "repeat"}, string(code[1])) {
			continue // a model of another test, whose code has no counterpart
		}
		if strings.Contains(string(text), "response_cache") {
			continue // the reference server has none
		}
		text = pythonModel.ReplaceAll(text, []byte(`backend: "$1"`))
		if err := os.WriteFile(filepath.Join(flat, filepath.Base(config)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := peers.Repository(flat, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
