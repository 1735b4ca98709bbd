// Package tokenizer compares the tokenizer with the `tokenizers` package of Hugging Face: the same ids and texts with
// the files of real models. It needs Python 3, npm and go for the installation into the cache folder.
package tokenizer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// Oracle is the installed package and the models.
type Oracle struct{ dir string }

// Install brings the package and the models into the cache folder.
func Install(ctx context.Context) (*Oracle, error) {
	dir, err := peers.Fill(ctx, "tokenizer", "ready-3", "e2e/tokenizer/install.sh")
	if err != nil {
		return nil, err
	}
	return &Oracle{dir: dir}, nil
}

// Model is the folder of a model.
func (o *Oracle) Model(name string) string { return filepath.Join(o.dir, "models", name) }

// IDs are what the package makes of texts: a line of JSON for each line of texts, to be read as an Answer.
func (o *Oracle) IDs(ctx context.Context, model string, texts []byte) ([]byte, error) {
	return o.ask(ctx, texts, "ids", o.Model(model))
}

// Rendered are the texts that the package `transformers` makes of conversations: a line of JSON for each line, null where it refuses.
func (o *Oracle) Rendered(ctx context.Context, model string, conversations []byte) ([]byte, error) {
	return o.ask(ctx, conversations, "chat", o.Model(model))
}

// Texts are n texts, a JSON string a line. The pieces of code among them are of the Go distribution.
func (o *Oracle) Texts(ctx context.Context, n, seed int) ([]byte, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	return o.run(ctx, nil, "texts", strconv.Itoa(n), strconv.Itoa(seed), filepath.Join(strings.TrimSpace(string(root)), "src"))
}

// EncodeTime is the least CPU time, in seconds, that the package takes in one of several rounds to encode the texts of a file.
func (o *Oracle) EncodeTime(ctx context.Context, model, file string, rounds int) (float64, error) {
	out, err := o.run(ctx, nil, "bench", filepath.Join(o.Model(model), "tokenizer.json"), file, strconv.Itoa(rounds))
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}

// keptInput is the longest input whose output is kept, in bytes.
const keptInput = 8 << 20

// ask runs oracle.py. It keeps the output in the cache folder, like the outcomes of other peers: the next run with the same input does not
// start Python, which takes seconds for each model.
func (o *Oracle) ask(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	cache, err := peers.CacheDir()
	if err != nil {
		return nil, err
	}
	key := sha256.New()
	for _, file := range []string{"oracle.py", "install.sh"} { // install.sh has the versions of packages and models
		text, err := os.ReadFile(source(file))
		if err != nil {
			return nil, err
		}
		key.Write(text)
	}
	fmt.Fprintf(key, "%q\n", args)
	key.Write(input)
	kept := filepath.Join(cache, "outcomes", "tokenizer", hex.EncodeToString(key.Sum(nil)[:12]))
	if out, err := os.ReadFile(kept); err == nil {
		return out, nil
	}
	out, err := o.run(ctx, input, args...)
	if err != nil || len(input) > keptInput {
		return out, err
	}
	return out, keep(kept, out)
}

// keep writes a file that appears when it is complete.
func keep(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := fmt.Sprint(path, ".", os.Getpid())
	if err := os.WriteFile(part, text, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// run runs oracle.py and returns what it prints.
func (o *Oracle) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	cmd := o.command(ctx, args...)
	var message strings.Builder
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &message
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("oracle.py %s: %w: %s", args[0], err, message.String())
	}
	return out, nil
}

func (o *Oracle) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(o.dir, "venv", "bin", "python"), append([]string{source("oracle.py")}, args...)...)
}

// source is the path of a file of this package.
func source(name string) string { return filepath.Join(binary.Root(), "e2e", "tokenizer", name) }

// Answer is what the package makes of one text.
type Answer struct {
	IDs, Plain  []int
	Text, Clean string // of the ids: all, and without special tokens
}

// UnmarshalJSON reads a line of oracle.py ids.
func (a *Answer) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&a.IDs, &a.Plain, &a.Text, &a.Clean})
}
