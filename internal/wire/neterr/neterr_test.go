package neterr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

func TestDial(t *testing.T) {
	f := func(err error, kind neterr.Kind, text string) {
		t.Helper()
		e := neterr.Dial("host:1", fmt.Errorf("dial: %w", err))
		if e.Kind != kind || !errors.Is(e, err) || !strings.Contains(e.Error(), text) || !strings.Contains(e.Error(), "host:1") {
			t.Errorf("%v: %v: %v", err, e.Kind, e)
		}
	}
	f(syscall.ECONNREFUSED, neterr.Refused, "nothing listens")
	f(&net.DNSError{Name: "host"}, neterr.Resolve, "has no address")
	f(context.Canceled, neterr.Broken, "was cut")
	f(os.ErrDeadlineExceeded, neterr.Timeout, "cannot connect")
	f(syscall.EHOSTUNREACH, neterr.Unreachable, "cannot connect")
}

func TestEveryKindHasANameAndAClass(t *testing.T) {
	seen := map[string]bool{}
	for k := neterr.Unreachable; k <= neterr.Canceled; k++ {
		if k.String() == "" || seen[k.String()] || k.Class() == record.OK {
			t.Errorf("kind %d: %q, %v", k, k, k.Class())
		}
		seen[k.String()] = true
	}
}

func TestErrorText(t *testing.T) {
	f := func(e *neterr.Error, want string) {
		t.Helper()
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
	f(&neterr.Error{Kind: neterr.Malformed, Text: "a frame"}, "a frame")
	f(&neterr.Error{Kind: neterr.Closed, Text: "the server closed the connection", Err: io.EOF}, "the server closed the connection: EOF")
	f(&neterr.Error{Kind: neterr.Reset, Addr: "a:1", Partial: true, Err: syscall.ECONNRESET}, "a:1 reset the connection in the middle of a reply")
	f(&neterr.Error{Kind: neterr.Canceled, Err: context.Canceled}, "context canceled")
}
