package pending

import (
	"bytes"
	"io"
	"os"
)

// temporary is data in a file beside its final place.
type temporary struct {
	*os.File
	out *Output
}

func (t *temporary) content() (io.Reader, error) {
	_, err := t.Seek(0, io.SeekStart)
	return t.File, err
}

// rename moves the file to the target. After an error its content can still be read.
func (t *temporary) rename(to target) error {
	if err := t.Close(); err != nil {
		return err
	}
	err := os.Rename(t.Name(), to.path)
	if err == nil {
		t.out.gone(t.Name())
		return nil
	}
	again, openErr := os.Open(t.Name())
	if openErr != nil {
		return openErr
	}
	t.File = again
	return err
}

func (t *temporary) discard() {
	_ = t.Close() // the data is discarded
	_ = os.Remove(t.Name())
	t.out.gone(t.Name())
}

// spoolMemory is the number of bytes that a spool keeps in memory.
const spoolMemory = 8 << 20

// spool holds data for a target that cannot be replaced: in memory, and above spoolMemory in the folder of temporary files.
type spool struct {
	out    *Output
	memory bytes.Buffer
	disk   *temporary
}

// Write implements io.Writer.
func (s *spool) Write(b []byte) (int, error) {
	if s.disk == nil && s.memory.Len()+len(b) > spoolMemory {
		f, err := s.out.newTemporary(os.TempDir(), 0o600)
		if err != nil {
			return 0, err
		}
		s.disk = f
		if _, err := s.memory.WriteTo(f); err != nil {
			return 0, err
		}
	}
	if s.disk != nil {
		return s.disk.Write(b)
	}
	return s.memory.Write(b)
}

func (s *spool) content() (io.Reader, error) {
	if s.disk != nil {
		return s.disk.content()
	}
	return &s.memory, nil
}

func (s *spool) discard() {
	if s.disk != nil {
		s.disk.discard()
	}
}
