package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service/kserve/modelconfig"
)

// note is what must be put back at a server. It lies on disk from the first change to the end of the restoration, so that the
// next search restores what a search that was killed could not.
type note struct {
	Server  string                `json:"server"`
	Models  map[string]notedModel `json:"models,omitempty"`
	Unload  []string              `json:"unload,omitempty"` // models that were not loaded
	Command string                `json:"command,omitempty"`
	Process int                   `json:"process"`
	Since   time.Time             `json:"since"`

	path string
}

// notedModel is the configuration that a model had, and that of the server's repository; empty while that is not known. Applied are those
// of the last candidate.
type notedModel struct {
	Own        json.RawMessage   `json:"own"`
	Repository json.RawMessage   `json:"repository,omitempty"`
	Applied    []json.RawMessage `json:"applied,omitempty"`
}

// fileOf names a note, journal or lock by what it is about; empty where there is no place for it.
func fileOf(p *command.IO, kind string, about ...string) string {
	dir := p.StateFolder()
	if dir == "" {
		return ""
	}
	h := sha256.New()
	for _, text := range about {
		fmt.Fprintf(h, "%d %s\n", len(text), text)
	}
	return filepath.Join(dir, "tune", hex.EncodeToString(h.Sum(nil)[:8])+"."+kind)
}

// serverFile names a file about the server.
func (s *session) serverFile(kind string) string { return fileOf(s.IO, kind, s.what, s.server) }

// readNote reads the note about the server; nil if there is none.
func (s *session) readNote() (*note, error) {
	path := s.serverFile("restore.json")
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

// lock keeps other searches of this machine away from the server until unlock. A place where nothing can be written has no lock.
func (s *session) lock() (unlock func(), err error) {
	f := openPrivate(s.serverFile("lock"))
	switch {
	case f == nil:
		return func() {}, nil
	case lockFile(f):
		return func() { _ = f.Close() }, nil // which removes the lock
	}
	_ = f.Close() // nothing was written
	who := "another process"
	if n, err := s.readNote(); err == nil && n != nil {
		who = fmt.Sprintf("process %d", n.Process)
	}
	return nil, fmt.Errorf("%s of this machine already tunes the server at %s: wait until it has ended", who, s.address())
}

// openPrivate opens a file of the user alone; nil if that is not possible.
func openPrivate(path string) *os.File {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	return f
}

// address is that of the server without secrets.
func (s *session) address() string { return secret.PublicURL(s.server) }

// keepNote writes what must be put back. A place where nothing can be written is a remark: the search goes on without a note.
func (s *session) keepNote() {
	n := &note{Server: s.address(), Process: os.Getpid(), Since: s.began.UTC(), path: s.serverFile("restore.json"), Command: s.opts.restore}
	err := n.add(s.control)
	if err == nil {
		var text []byte
		if text, err = json.Marshal(n); err == nil {
			err = writePrivate(n.path, text)
		}
	}
	if err == nil {
		s.note = n
		return
	}
	if !s.warned {
		fmt.Fprintf(s.Stderr, "warning: no note for the next start could be written: %s; if this search is killed, restore the server yourself\n", line(err))
	}
	s.warned = true
}

// add notes the models of a control, which may be nil.
func (n *note) add(c *control) error {
	if c == nil {
		return nil
	}
	n.Models, n.Unload = map[string]notedModel{}, c.extra
	for m, own := range c.own {
		if slices.Contains(c.extra, m) {
			continue
		}
		var noted notedModel
		var err error
		if noted.Own, err = own.JSON(); err != nil {
			return err
		}
		if other, ok := c.repository[m]; ok {
			if noted.Repository, err = other.JSON(); err != nil {
				return err
			}
		}
		for _, a := range c.applied[m] {
			text, err := a.JSON()
			if err != nil {
				return err
			}
			noted.Applied = append(noted.Applied, text)
		}
		n.Models[m] = noted
	}
	return nil
}

// dropNote removes the note, once the server has what it had.
func (s *session) dropNote() error {
	if s.note == nil {
		return nil
	}
	err := os.Remove(s.note.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	s.note = nil
	return err
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

// honor puts back what an earlier search could not.
func (s *session) honor(ctx context.Context) error {
	n, err := s.readNote()
	if err != nil || n == nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "the search of %s ended without restoring the server; restoring it\n", n.Since.Local().Format(time.DateTime))
	if n.Command != "" {
		err = s.shell(ctx, n.Command, nil)
	}
	if err == nil && len(n.Models)+len(n.Unload) > 0 {
		err = s.restoreNoted(ctx, n)
	}
	if err != nil {
		return fmt.Errorf("restore the server at %s: %w; if it has its own configuration already, remove %s", s.address(), err, n.path)
	}
	return os.Remove(n.path)
}

func (s *session) restoreNoted(ctx context.Context, n *note) error {
	svc, err := open(s.base.Plan())
	if err != nil {
		return err
	}
	defer svc.Close()
	c, err := newControl(svc)
	if err != nil {
		return err
	}
	if err := c.addNoted(n); err != nil {
		return err
	}
	return s.putBack(ctx, c)
}

// addNoted adds the models of a note.
func (c *control) addNoted(n *note) (err error) {
	c.extra = n.Unload
	for _, m := range slices.Sorted(maps.Keys(n.Models)) {
		c.models = append(c.models, m)
		if c.own[m], err = modelconfig.Parse(n.Models[m].Own); err != nil {
			return err
		}
		if other := n.Models[m].Repository; other != nil {
			if c.repository[m], err = modelconfig.Parse(other); err != nil {
				return err
			}
		}
		for _, text := range n.Models[m].Applied {
			a, err := modelconfig.Parse(text)
			if err != nil {
				return err
			}
			c.applied[m] = append(c.applied[m], a)
		}
	}
	return nil
}
