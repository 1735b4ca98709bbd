package doctor

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/redline-bench/redline/internal/wire/arrival"
)

// unread is how long stamped leaves a byte unread: if the kernel records its arrival, the read returns that earlier time.
const unread = 2 * time.Millisecond

// stamped sends bytes over a connection within this machine and reads them late.
func stamped(ctx context.Context) (bool, error) {
	if runtime.GOOS != "linux" {
		return false, errUnsupported
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	defer l.Close()
	out, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return false, err
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		return false, err
	}
	defer in.Close()
	conn := arrival.Wrap(in)
	if conn == nil {
		return false, nil
	}
	var b [1]byte
	for range 5 { // the kernel needs a moment to begin
		if _, err := out.Write(b[:]); err != nil {
			return false, err
		}
		time.Sleep(unread)
		if _, err := conn.Read(b[:]); err != nil {
			return false, err
		}
		if _, late := conn.Last(); late >= int64(unread/2) {
			return true, nil
		}
	}
	return false, nil
}
