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
	// Answers counts the bytes of Buf that answer frames of the server. The owner adds to it and bounds it: a server
	// that asks and does not read would have them pile up. It is 0 again when Buf is taken to be written.
	Answers int

	nc     net.Conn
	raw    syscall.RawConn // nil where a write cannot be tried without waiting
	mu     *sync.Mutex
	broken func(error)
	refs   []ref

	// writing is set while a goroutine writes the batch; that goroutine alone touches the fields below.
	writing bool
	spare   []byte
	batch   [][]byte
	at      int // pieces of the batch that are written
	vec     vector
	try     func(fd uintptr) bool
	wait    func(fd uintptr) bool
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
	o.try, o.wait = o.tryWrite, o.waitWrite
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

// Unsent is the size of what was gathered while something else is being written, with the mutex held.
func (o *Box) Unsent() int {
	if !o.writing {
		return 0
	}
	return len(o.Buf)
}

// take moves what was gathered into batch, and reports whether there was anything.
func (o *Box) take() bool {
	o.batch, o.at = o.batch[:0], 0
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
	o.Buf, o.spare, o.Answers = o.spare[:0], buf, 0
	return true
}

// advance counts n written bytes of the batch.
func (o *Box) advance(n int) {
	for o.left() && n >= len(o.batch[o.at]) {
		n -= len(o.batch[o.at])
		o.batch[o.at] = nil
		o.at++
	}
	if n > 0 {
		o.batch[o.at] = o.batch[o.at][n:]
	}
}

// left tells whether the batch is not all written.
func (o *Box) left() bool { return o.at < len(o.batch) }

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
		if o.left() {
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
		err := o.write()
		o.mu.Lock()
		if err != nil {
			o.broken(err)
			o.mu.Unlock()
			return
		}
		if !o.take() {
			o.writing = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
	}
}

// write writes the batch and waits where it has to.
func (o *Box) write() error {
	if o.raw != nil {
		if err := o.raw.Write(o.wait); err != nil {
			return err
		}
		return o.tryErr
	}
	for ; o.left(); o.at++ {
		if _, err := o.nc.Write(o.batch[o.at]); err != nil {
			return err
		}
	}
	return nil
}

// waitWrite writes as much of the batch as the kernel takes. It returns false to be called again when there is room.
func (o *Box) waitWrite(fd uintptr) bool {
	o.tryWrite(fd)
	return o.tryErr != nil || !o.left()
}

// Wait returns when no goroutine of the box runs any more. The connection must be closed before.
func (o *Box) Wait() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.pushing.Wait()
}
