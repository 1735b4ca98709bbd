package chars

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// Guard notes that a tokenizer took more time or memory for a text than it may take. Files of tokenizers come from
// strangers. All parts of a tokenizer share one guard.
type Guard struct {
	slow  atomic.Bool // a pattern was given up
	grown atomic.Bool // a text became too long
}

// A text may grow to so many bytes, and more if it is long: no real tokenizer comes near.
const (
	maxBytes  = 16 << 20
	maxGrowth = 64 // times the text
)

// Room is how many bytes may be made of n bytes.
func Room(n int) int { return maxBytes + maxGrowth*n }

// Fits reports whether a text may have n bytes, and notes that it has too many.
func (g *Guard) Fits(n, room int) bool {
	if n > room {
		g.grown.Store(true)
	}
	return n <= room
}

// Err returns what was noted. The results for some text are then incomplete.
func (g *Guard) Err() error {
	if g.slow.Load() {
		return errors.New("a pattern takes too long for a text; check where the file comes from")
	}
	if g.grown.Load() {
		return fmt.Errorf("a text grows to more than %d times its size; check where the file comes from", maxGrowth)
	}
	return nil
}
