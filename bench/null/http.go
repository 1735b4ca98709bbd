package null

import (
	"bytes"
	"errors"
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"
)

// seed is the same for all sessions, so that they share kinds.
var seed = maphash.MakeSeed()

var errBad = errors.New("malformed request")

// webSession uses HTTP/1.1, with pipelining.
type webSession struct {
	server *Server
	last   *kind // the kind of the request before, and
	lastID key   // its key: most connections send one kind
}

// request has the parts of an HTTP request.
type request struct {
	head   []byte // with the empty line
	body   []byte
	target []byte
	json   int // the length of the JSON in front of the body, or -1 when it is not said
	post   bool
}

const (
	lineEnd  = "\r\n"
	emptyEnd = "\r\n\r\n"
	// maxHead bounds a head that never ends.
	maxHead = 1 << 16
)

func (w *webSession) consume(in, out []byte) (int, []byte, error) {
	used := 0
	for {
		r, size, err := split(in[used:])
		if err != nil || size == 0 {
			return used, out, err
		}
		if out, err = w.answer(r, in[used:used+size], out); err != nil {
			return used, out, err
		}
		used += size
	}
}

// split finds the first whole request; size 0 requests more bytes.
func split(in []byte) (r request, size int, err error) {
	end := bytes.Index(in, []byte(emptyEnd))
	if end < 0 {
		if len(in) > maxHead {
			err = errBad
		}
		return r, 0, err
	}
	r.head = in[:end+len(emptyEnd)]
	line, rest, _ := bytes.Cut(r.head, []byte(lineEnd))
	method, target, ok := bytes.Cut(line, []byte{' '})
	if r.target, _, _ = bytes.Cut(target, []byte{' '}); !ok {
		return r, 0, errBad
	}
	r.post = string(method) == http.MethodPost
	r.json = -1
	length := 0
	for len(rest) > len(lineEnd) {
		line, rest, _ = bytes.Cut(rest, []byte(lineEnd))
		if err := r.field(line, &length); err != nil {
			return r, 0, err
		}
	}
	size = len(r.head) + length
	if len(in) < size {
		return r, 0, nil
	}
	r.body = in[len(r.head):size]
	return r, size, nil
}

// field looks at the few headers that matter; by their length first, as most do not.
func (r *request) field(line []byte, length *int) error {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok {
		return errBad
	}
	switch {
	case len(name) == len("Content-Length") && strings.EqualFold(string(name), "Content-Length"):
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 || n > 1<<31 {
			return errBad
		}
		*length = n
	case len(name) == len(jsonLength) && strings.EqualFold(string(name), jsonLength):
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 {
			return errBad
		}
		r.json = n
	case len(name) == len("Transfer-Encoding") && strings.EqualFold(string(name), "Transfer-Encoding"):
		return errBad // chunked bodies are not supported
	}
	return nil
}

const jsonLength = "Inference-Header-Content-Length"

func (w *webSession) answer(r request, whole, out []byte) ([]byte, error) {
	head := r.json
	if head < 0 || head > len(r.body) {
		head = len(r.body)
	}
	id, at, ok := jsonID(r.body[:head])
	if !ok || !r.post || !bytes.HasSuffix(r.target, []byte("/infer")) {
		a, err := w.server.behind.ask(whole)
		if err != nil {
			return out, err
		}
		return a.append(out), nil
	}
	rest := r.body[at+len(id) : head]
	name := key{
		hash:   maphash.Bytes(seed, r.target) ^ maphash.Bytes(seed, r.body[:at])*3 ^ maphash.Bytes(seed, rest)*5,
		length: len(r.body) - len(id),
	}
	if w.last == nil || w.lastID != name {
		k := w.server.kinds.get(name)
		if k == nil {
			return w.learn(name, whole, id, out)
		}
		w.last, w.lastID = k, name
	}
	return w.last.write(out, id), nil
}

// jsonID finds the value of "id" and where it lies; an empty one at the start when there is none. Not ok when it is
// written in a way that only the reference server can read.
func jsonID(b []byte) (id []byte, at int, ok bool) {
	const name = `"id":"`
	i := bytes.Index(b, []byte(name))
	if i < 0 {
		return nil, 0, !bytes.Contains(b, []byte(`"id"`))
	}
	at = i + len(name)
	end := bytes.IndexByte(b[at:], '"')
	if end < 0 || bytes.IndexByte(b[at:at+end], '\\') >= 0 {
		return nil, 0, false
	}
	return b[at : at+end], at, true
}

// write gives the kept answer with an id.
func (k *kind) write(out, id []byte) []byte {
	extra := 0
	if len(id) > 0 {
		extra = len(`"id":"",`) + len(id)
	}
	if k.plain {
		out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "...)
	} else {
		out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: "...)
		out = strconv.AppendInt(out, int64(k.head+extra), 10)
		out = append(out, "\r\nContent-Length: "...)
	}
	out = strconv.AppendInt(out, int64(len(k.answer)+extra), 10)
	out = append(out, "\r\n\r\n{"...)
	if extra > 0 {
		out = append(out, `"id":"`...)
		out = append(out, id...)
		out = append(out, `",`...)
	}
	return append(out, k.answer[1:]...)
}

// learn lets the reference server respond and keeps its response.
func (w *webSession) learn(name key, whole, id, out []byte) ([]byte, error) {
	a, err := w.server.behind.ask(whole)
	if err != nil {
		return out, err
	}
	k := &kind{answer: a.body, head: len(a.body), plain: true}
	if text := a.header.Get(jsonLength); text != "" {
		k.plain = false
		k.head, _ = strconv.Atoi(text) // our own header
	}
	if prefix := `{"id":"` + string(id) + `"`; len(id) > 0 && bytes.HasPrefix(a.body, []byte(prefix)) {
		// What stays is the object without its first member.
		k.answer = append([]byte{'{'}, a.body[len(prefix)+1:]...)
		k.head -= len(prefix)
	}
	if a.status == http.StatusOK && a.header.Get("Content-Encoding") == "" {
		w.server.kinds.put(name, k)
	}
	return a.append(out), nil
}
