// Package outbox gathers bytes for a connection and writes them in few system calls.
//
// The bytes are gathered under a mutex of the owner, in the order in which they must leave; large pieces are
// not copied. Flush hands all of them to the kernel at once and never waits: where another goroutine is
// writing already, that one takes the new bytes along, and what the kernel does not accept is pushed by a
// goroutine of its own. So a goroutine that must go on reading may flush.
package outbox

import (
	"net"
	"sync"
	"syscall"
)

// Box is the outgoing side of one connection. Use Init.
type Box struct {
	// Buf is appended to by the owner, with the mutex held.
	Buf []byte

	nc     net.Conn
	raw    syscall.RawConn // nil where a write cannot be tried without waiting
	mu     *sync.Mutex
	broken func(error)
	refs   []ref

	// writing is set while a goroutine writes the batch; that goroutine alone touches the fields below.
	writing bool
	spare   []byte
	batch   [][]byte
	try     func(fd uintptr) bool
	tryErr  error
	pushing sync.WaitGroup
	closed  bool // no goroutine may be started any more
}

// ref is a piece that belongs before byte at of the buffer.
type ref struct {
	at int
	p  []byte
}

const (
	// copyLimit is the size from which a piece is handed to the kernel where it lies.
	copyLimit = 8 << 10
	// keepLimit bounds what an emptied buffer keeps.
	keepLimit = 1 << 20
)

// Init readies the box. broken is called, with mu held, when a write fails; nothing is written after it.
func (o *Box) Init(nc net.Conn, mu *sync.Mutex, broken func(error)) {
	o.nc, o.mu, o.broken = nc, mu, broken
	o.raw = rawWriter(nc)
	o.try = o.tryWrite
}

// Add gathers p, with the mutex held. p must not change before it is written.
func (o *Box) Add(p []byte) {
	if len(p) < copyLimit {
		o.Buf = append(o.Buf, p...)
		return
	}
	o.refs = append(o.refs, ref{len(o.Buf), p})
}

// Busy tells whether something is being written, with the mutex held.
func (o *Box) Busy() bool { return o.writing }

// take moves what was gathered into batch, and reports whether there was anything.
func (o *Box) take() bool {
	o.batch = o.batch[:0]
	if len(o.Buf) == 0 && len(o.refs) == 0 {
		return false
	}
	buf, from := o.Buf, 0
	for _, r := range o.refs {
		if r.at > from {
			o.batch = append(o.batch, buf[from:r.at])
		}
		o.batch = append(o.batch, r.p)
		from = r.at
	}
	if from < len(buf) {
		o.batch = append(o.batch, buf[from:])
	}
	clear(o.refs)
	o.refs = o.refs[:0]
	if cap(o.spare) > keepLimit {
		o.spare = nil
	}
	o.Buf, o.spare = o.spare[:0], buf
	return true
}

// advance drops n written bytes from the batch.
func (o *Box) advance(n int) {
	done := 0
	for done < len(o.batch) && n >= len(o.batch[done]) {
		n -= len(o.batch[done])
		done++
	}
	rest := copy(o.batch, o.batch[done:])
	clear(o.batch[rest:])
	o.batch = o.batch[:rest]
	if rest > 0 {
		o.batch[0] = o.batch[0][n:]
	}
}

// Flush writes what was gathered. The mutex must not be held.
func (o *Box) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && !o.writing && o.take() {
		o.writing = true
		if o.raw == nil {
			o.background()
			return
		}
		o.mu.Unlock()
		err := o.raw.Write(o.try)
		if err == nil {
			err = o.tryErr
		}
		o.mu.Lock()
		if err != nil {
			o.broken(err) // and stay in the writing state: nothing is written any more
			return
		}
		if len(o.batch) > 0 {
			o.background()
			return
		}
		o.writing = false
	}
}

// background starts the goroutine that writes the batch, and what comes after it, and may wait.
func (o *Box) background() {
	if o.closed {
		return
	}
	o.pushing.Add(1)
	go o.push()
}

func (o *Box) push() {
	defer o.pushing.Done()
	for {
		for _, p := range o.batch {
			if _, err := o.nc.Write(p); err != nil {
				o.mu.Lock()
				o.broken(err)
				o.mu.Unlock()
				return
			}
		}
		o.mu.Lock()
		if !o.take() {
			o.writing = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
	}
}

// Wait returns when no goroutine of the box runs any more. The connection must be closed before.
func (o *Box) Wait() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.pushing.Wait()
}
