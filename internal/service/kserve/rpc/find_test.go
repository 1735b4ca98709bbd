package rpc

import "testing"

func TestFindingACallDoesNotAllocate(t *testing.T) {
	tr := &track{calls: map[uint64]*bidi{}}
	f := &feed{track: tr}
	calls := make([]*bidi, 8)
	for i := range calls {
		calls[i] = &bidi{track: tr}
		calls[i].vars.ID = 1<<48 + uint64(i)
		tr.add(calls[i], f)
	}
	id := []byte("281474976710661")
	n := testing.AllocsPerRun(1000, func() {
		b := f.find(id)
		if b != calls[5] {
			t.Fatal("not the call with that id")
		}
		tr.drop(b)
		tr.add(b, f)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, id := range []string{"281474976710664", "x", "-1", "99999999999999999999999"} {
		if f.find([]byte(id)) != nil {
			t.Errorf("id %s belongs to a call", id)
		}
	}
}
