package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service/kserve/modelconfig"
)

// note is what must be put back at a server. It lies on disk from the first change to the end of the restoration, so that the
// next search restores what a search that was killed could not.
type note struct {
	Server  string                     `json:"server"`
	Models  map[string]json.RawMessage `json:"models,omitempty"` // the configurations that they had
	Unload  string                     `json:"unload,omitempty"` // a model that was not loaded
	Command string                     `json:"command,omitempty"`
	Process int                        `json:"process"`
	Since   time.Time                  `json:"since"`

	path string
}

// folder is where notes and journals are kept; empty where there is no place for them.
func folder(p *command.IO) string {
	switch {
	case p.Getenv("XDG_STATE_HOME") != "":
		return filepath.Join(p.Getenv("XDG_STATE_HOME"), "redline", "tune")
	case p.Getenv("HOME") != "":
		return filepath.Join(p.Getenv("HOME"), ".local", "state", "redline", "tune")
	case p.Getenv("LOCALAPPDATA") != "":
		return filepath.Join(p.Getenv("LOCALAPPDATA"), "redline", "tune")
	}
	return ""
}

// fileOf names a file in the folder by what it is about.
func fileOf(p *command.IO, kind string, about ...string) string {
	dir := folder(p)
	if dir == "" {
		return ""
	}
	h := sha256.New()
	for _, text := range about {
		fmt.Fprintf(h, "%d %s\n", len(text), text)
	}
	return filepath.Join(dir, hex.EncodeToString(h.Sum(nil)[:8])+"."+kind)
}

// readNote reads the note about a server; nil if there is none.
func readNote(p *command.IO, server string) (*note, error) {
	path := fileOf(p, "restore.json", server)
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &note{path: path}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("read %s: %w; remove the file if the server has its own configuration", path, err)
	}
	return n, nil
}

// running tells whether the search that left the note still runs.
func (n *note) running() bool {
	if n.Process == os.Getpid() {
		return false
	}
	process, err := os.FindProcess(n.Process)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}

// keepNote writes what must be put back. A place where nothing can be written is a remark: the search goes on without a note.
func (s *session) keepNote() {
	n := &note{Server: secret.PublicURL(s.server), Process: os.Getpid(), Since: time.Now().UTC(), path: fileOf(s.IO, "restore.json", s.server), Command: s.opts.restore}
	if s.control != nil {
		n.Models, n.Unload = map[string]json.RawMessage{}, s.control.extra
		for m, c := range s.control.own {
			text, err := c.JSON()
			if err != nil {
				continue // a configuration that was read can be written
			}
			n.Models[m] = text
		}
	}
	text, err := json.Marshal(n)
	if err == nil {
		err = writePrivate(n.path, text)
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "warning: no note for the next start could be written: %v; if this search is killed, load the models again yourself\n", err)
		return
	}
	s.note = n
}

// writePrivate writes a file of the user alone, at once or not at all.
func writePrivate(path string, content []byte) error {
	if path == "" {
		return errors.New("neither XDG_STATE_HOME nor HOME is set")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (n *note) remove() error { return os.Remove(n.path) }

// honor puts back what an earlier search could not.
func (s *session) honor(ctx context.Context) error {
	n, err := readNote(s.IO, s.server)
	if err != nil || n == nil {
		return err
	}
	if n.running() {
		return fmt.Errorf("process %d is tuning this server since %s: wait for it, or end it", n.Process, n.Since.Local().Format(time.TimeOnly))
	}
	fmt.Fprintf(s.Stderr, "an earlier search of %s ended without restoring the server; restoring it\n", n.Since.Local().Format(time.DateTime))
	if n.Command != "" {
		if err := s.shell(ctx, n.Command, nil); err != nil {
			return fmt.Errorf("restore the server: %w", err)
		}
	}
	if len(n.Models) > 0 {
		if err := s.restoreNoted(ctx, n); err != nil {
			return fmt.Errorf("restore the server: %w; remove %s if it has its own configuration", err, n.path)
		}
	}
	return n.remove()
}

func (s *session) restoreNoted(ctx context.Context, n *note) error {
	svc, err := open(s.base.Plan())
	if err != nil {
		return err
	}
	c, err := controlOf(svc)
	if err != nil {
		return err
	}
	defer c.close()
	c.extra = n.Unload
	for m, text := range n.Models {
		own, err := modelconfig.Parse(text)
		if err != nil {
			return err
		}
		c.models = append(c.models, m)
		c.own[m] = own
	}
	return c.restore(ctx)
}
