package sched

import (
	"container/list"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/stats"
)

// cacheBytes is how much tensor data a model's cache keeps.
const cacheBytes = 64 << 20

// Cache is a scheduler in front of another one. It serves requests that equal an earlier one from memory. When the memory is
// full, it drops the responses that were not used for the longest time.
type Cache struct {
	next     Scheduler
	counters *stats.Counters
	seed     maphash.Seed

	mu    sync.Mutex
	byKey map[uint64]*list.Element
	order *list.List // most recently used first
	bytes int
}

type cached struct {
	key   uint64
	resp  *infer.Response
	bytes int
}

// NewCache puts a cache before a scheduler.
func NewCache(next Scheduler, counters *stats.Counters) *Cache {
	return &Cache{next: next, counters: counters, seed: maphash.MakeSeed(), byKey: map[uint64]*list.Element{}, order: list.New()}
}

// Enqueue responds from memory, or passes the request on and keeps its response.
func (c *Cache) Enqueue(r *infer.Request) error {
	start := time.Now()
	key := c.key(r)
	if resp := c.find(key); resp != nil {
		end := time.Now()
		c.counters.Hit(end.Sub(r.Received), start.Sub(r.Received), end.Sub(start))
		r.Reply(resp)
		return nil
	}
	lookup := time.Since(start)
	reply := r.Reply
	r.Reply = func(resp *infer.Response) {
		if resp.Err == nil {
			insert := time.Now()
			c.keep(key, resp)
			c.counters.Miss(lookup + time.Since(insert))
		}
		reply(resp)
	}
	return c.next.Enqueue(r)
}

// key hashes everything that determines the response.
func (c *Cache) key(r *infer.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	var size [8]byte
	for i := range r.Inputs {
		t := &r.Inputs[i]
		_, _ = h.WriteString(t.Name)
		for _, d := range t.Shape {
			binary.LittleEndian.PutUint64(size[:], uint64(d))
			_, _ = h.Write(size[:])
		}
		binary.LittleEndian.PutUint64(size[:], uint64(len(t.Data)))
		_, _ = h.Write(size[:])
		_, _ = h.Write(t.Data)
	}
	for i := range r.Outputs {
		_, _ = h.WriteString(r.Outputs[i].Name)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

func (c *Cache) find(key uint64) *infer.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).resp
}

func (c *Cache) keep(key uint64, resp *infer.Response) {
	size := 0
	for i := range resp.Outputs {
		size += len(resp.Outputs[i].Data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > cacheBytes || c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&cached{key: key, resp: resp, bytes: size})
	c.bytes += size
	for c.bytes > cacheBytes {
		last := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byKey, last.key)
		c.bytes -= last.bytes
	}
}

// Close closes the scheduler behind.
func (c *Cache) Close() { c.next.Close() }
