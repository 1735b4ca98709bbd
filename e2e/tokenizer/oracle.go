// Package tokenizer compares the tokenizer with the `tokenizers` package of Hugging Face: the same ids and texts with
// the files of real models. It needs Python 3, npm and go for the installation into the cache folder.
package tokenizer

import (
	"context"
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
	dir, err := peers.Fill(ctx, "tokenizer", "ready-2", "e2e/tokenizer/install.sh")
	if err != nil {
		return nil, err
	}
	return &Oracle{dir: dir}, nil
}

// Model is the folder of a model.
func (o *Oracle) Model(name string) string { return filepath.Join(o.dir, "models", name) }

// Run runs oracle.py with its output in a file.
func (o *Oracle) Run(ctx context.Context, to string, args ...string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	script := filepath.Join(binary.Root(), "e2e", "tokenizer", "oracle.py")
	cmd := exec.CommandContext(ctx, filepath.Join(o.dir, "venv", "bin", "python"), append([]string{script}, args...)...)
	var message strings.Builder
	cmd.Stdout, cmd.Stderr = f, &message
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("oracle.py %s: %w: %s", args[0], err, message.String())
	}
	return f.Close()
}

// Texts writes some texts, one JSON string a line, into a file.
func (o *Oracle) Texts(ctx context.Context, to string, n, seed int) error {
	return o.Run(ctx, to, "texts", strconv.Itoa(n), strconv.Itoa(seed), binary.Root())
}

// Answer is what the package makes of one text.
type Answer struct {
	IDs, Plain  []int
	Text, Clean string // of the ids: all, and without special tokens
}

// UnmarshalJSON reads a line of oracle.py ids.
func (a *Answer) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&a.IDs, &a.Plain, &a.Text, &a.Clean})
}
