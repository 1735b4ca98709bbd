// Package secrets plants secrets everywhere the program takes one, in every spelling, lets runs succeed and fail in many
// ways, and searches for the secrets in every byte that was printed and written.
package secrets

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// mark is the start of every secret. The number behind it tells where the secret was given.
const mark = "S3cr3tMark"

const numSecrets = 40

func secret(n int) string { return fmt.Sprintf("%s%02d-0aZ9bY8cX7", mark, n) }

// basic is the n-th secret as a password of Basic authentication.
func basic(n int) string { return base64.StdEncoding.EncodeToString([]byte("someone:" + secret(n))) }

// anyFailure is an exit code that is not 0, anyCode any exit code.
const (
	anyFailure = -1
	anyCode    = -2
)

// command is one run of the program.
type command struct {
	args []string // the first one is the name of the program
	env  []string
	code int // that it must end with
	// during, when not nil, is called while the program runs. It gets what the program has printed so far.
	during func(t *testing.T, p *os.Process, stdout, stderr *binary.Buffer)
}

// do runs the command in a folder, checks its exit code, and that no secret is in its output or in the folder. It returns
// the output.
func (c *command) do(t *testing.T, dir string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, c.args[0]), c.args[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + dir, "REDLINE_HISTORY=" + filepath.Join(dir, "history"), "SECRET_KEY=" + secret(envKey)}, c.env...)
	var stdout, stderr binary.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if c.during != nil {
		c.during(t, cmd.Process, &stdout, &stderr)
	}
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	text := stdout.String() + stderr.String()
	code := cmd.ProcessState.ExitCode()
	if good := c.code == anyCode || c.code == anyFailure && code > 0 || code == c.code; !good {
		t.Errorf("%q ends with %d, want %d:\n%s", c.args, code, c.code, text)
	}
	search(t, fmt.Sprintf("the output of %q", c.args), []byte(text))
	searchFiles(t, dir)
	return text
}

// search fails if a text holds a secret, plain or as Basic authentication spells it.
func search(t *testing.T, where string, text []byte) {
	t.Helper()
	spelled := []string{mark}
	for n := range numSecrets {
		spelled = append(spelled, basic(n), base64.StdEncoding.EncodeToString([]byte(secret(n)))[:20])
	}
	for _, s := range spelled {
		if i := bytes.Index(text, []byte(s)); i >= 0 {
			t.Errorf("a secret is in %s: ...%s...", where, text[max(0, i-120):min(len(text), i+60)])
			return
		}
	}
}

// searchFiles looks into all files below a folder, and at their names. It returns the names.
func searchFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == givenFile {
			return err
		}
		text, err := os.ReadFile(path)
		search(t, path, text)
		if filepath.Ext(path) == ".parquet" { // its columns are compressed
			rows, err := parquet.ReadFile[any](path)
			if err != nil {
				return err
			}
			search(t, path, fmt.Append(nil, rows...))
		}
		search(t, "the name of a file", []byte(path))
		names = append(names, d.Name())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// waitFor calls ready until it is true.
func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(testkit.Limit); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s did not come", what)
			return
		}
	}
}
