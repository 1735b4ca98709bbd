package dynamicgrpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
)

func TestGenerators(t *testing.T) {
	test := func(command, want string) {
		t.Helper()
		_, _, err := generate(command, time.Minute)
		var e *GeneratorError
		if !errors.As(err, &e) || e.Command != command || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", command, err, want)
		}
	}
	test("exit 3", `message generator "exit 3": exit status 3`)
	test("echo so sorry >&2; echo it broke >&2; exit 1", "exit status 1 (it said: it broke)")
	test("/no/such/program", "exit status 127 (it said: ")
	test("kill -9 $$", "signal: killed")
	test("true", "it wrote no message")
	test("printf abc", "its output ends inside the length of message 1, after 3 of 4 bytes: each message needs its length before it")
	test("printf Message-1", "message 1 should have")
	// Whatever the byte order, a length of four equal bytes is the same.
	test(`printf '\001\001\001\001abc'`, "message 1 should have 16843009 bytes, but only 3 came")
}

// What a generator writes to stderr is passed on. A generator that fails after its messages is an error, but for opaque
// messages, which are sent.
func TestGeneratorsWords(t *testing.T) {
	test := func(opaque bool, command string, messages int, said ...string) {
		t.Helper()
		s := &Service{target: plan.Target{OpaqueMessages: opaque}}
		list, err := s.generate(command)
		if len(list) != messages || (err == nil) != (messages > 0) {
			t.Errorf("%s: %d messages, %v", command, len(list), err)
		}
		if diff := cmp.Diff(said, s.Remarks()); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
	const whole, cut = `printf '\000\000\000\000'; echo hello >&2`, `printf '\001\001\001\001'; exit 3`
	test(false, whole, 1, "hello")
	test(true, whole, 1, "hello")
	test(false, whole+"; exit 3", 0)
	test(true, whole+"; exit 3", 1, "hello", `WARNING: message generator "`+strings.ReplaceAll(whole, `\`, `\\`)+`; exit 3": exit status 3 (it said: hello)`)
	test(true, cut, 0)
}

func TestStalledGenerator(t *testing.T) {
	_, _, err := generate("exec sleep 60", 20*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), `message generator "exec sleep 60": it wrote nothing for 20ms and was stopped`) {
		t.Error(err)
	}
}

// A child of the shell's that holds the output keeps nobody waiting: this one ends when the generator has.
func TestGeneratorWithAChild(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, _, err := generate("read line <'"+pipe+"' & printf '\\000\\000\\000\\000'", time.Minute); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(pipe, []byte("end\n"), 0); err != nil {
		t.Error(err)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0})
	f.Add(append(binary.NativeEndian.AppendUint32(nil, 3), "abc"...))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, why := split(b)
		if (len(list) == 0) == (why == "") {
			t.Fatalf("%d messages and %q", len(list), why)
		}
		var again []byte
		for _, m := range list {
			again = append(binary.NativeEndian.AppendUint32(again, uint32(len(m))), m...)
		}
		if why == "" && !bytes.Equal(again, b) {
			t.Error(cmp.Diff(b, again))
		}
	})
}
