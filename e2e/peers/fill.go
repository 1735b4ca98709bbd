package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
)

// How long an installation may take, and how long its failure stands: tests that need the same peer do not wait for a
// broken network one after the other.
const (
	fillLimit  = 10 * time.Minute
	failedFor  = 10 * time.Minute
	failedName = ".failed"
)

// ErrFailedBefore means that an installation failed a short time ago and was not tried again.
var ErrFailedBefore = errors.New("the installation failed a short time ago")

// CacheDir is the folder that holds everything the tests install or record.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "redline"), nil
}

// Fill fills a folder of the cache by a script of the source tree, once, and returns the folder. The script gets the
// folder and args; it creates the file that ready names at its end. A failure is remembered for ten minutes; Forget
// ends that.
func Fill(ctx context.Context, name, ready, script string, args ...string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(filepath.Join(dir, ready)); err == nil {
		return dir, nil
	}
	failed := dir + failedName
	if about, err := os.Stat(failed); err == nil && time.Since(about.ModTime()) < failedFor {
		text, _ := os.ReadFile(failed)
		return "", fmt.Errorf("%w: %s", ErrFailedBefore, text)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	if err := runScript(ctx, script, append([]string{dir}, args...)); err != nil {
		err = fmt.Errorf("install %s: %w", name, err)
		if ctx.Err() == nil {
			_ = os.WriteFile(failed, []byte(err.Error()), 0o644) // without the note the next test tries again
		}
		return "", err
	}
	return dir, nil
}

// Forget removes the notes of failed installations, so that each is tried again.
func Forget() error {
	cache, err := CacheDir()
	if err != nil {
		return err
	}
	notes, err := filepath.Glob(filepath.Join(cache, "*"+failedName))
	if err != nil {
		return err
	}
	for _, name := range notes {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// runScript runs a script of the source tree and ends everything that the script started when the limit is over.
func runScript(ctx context.Context, script string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, fillLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", append([]string{filepath.Join(binary.Root(), filepath.FromSlash(script))}, args...)...)
	cmd.Env = append(patience(), os.Environ()...) // of two values for a name the user's counts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("no end within %s", fillLimit)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, tail(string(out), 3))
	}
	return nil
}

// patience limits how long pip and uv wait for a response and how often they ask, so that a broken network is found out soon.
func patience() []string {
	return []string{"PIP_DEFAULT_TIMEOUT=20", "PIP_RETRIES=2", "UV_HTTP_TIMEOUT=20", "UV_HTTP_RETRIES=2"}
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
