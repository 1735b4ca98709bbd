// Package wire has what clients of HTTP/1.1 and of HTTP/2 share: the reply that both fill. The clients are below it.
package wire

// Reply is one HTTP response. Its slices are valid until the handler returns that is given its end.
type Reply struct {
	Status   int
	Type     []byte // Content-Type
	Encoding []byte // Content-Encoding
	Retry    []byte // Retry-After
	Number   int64  // the header named by h1.Config.Number; -1 when absent, as always over HTTP/2
	Close    bool   // the connection ends with this reply; false over HTTP/2
	Body     []byte // empty when it was streamed, and over HTTP/2: there a handler gathers it
	// Framed is the body with Room bytes before it, which may be overwritten: they held the empty line after the head. So a
	// caller can pass a body on with a number in front of it, and copy nothing. It is nil over HTTP/2.
	Framed []byte
	Size   int64 // bytes of the body
	First  int64 // clock.Now when the first byte was read, or when it arrived: see package arrival
	End    int64 // the same time of the last byte
	Late   int64 // the longest time between the arrival and the read of a part of it; 0 where that is not known
}

// Room is the number of bytes before the body in Framed.
const Room = 4
