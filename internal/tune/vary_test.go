package tune

import (
	"errors"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	f := func(text string, form Form, want string) {
		t.Helper()
		v, err := ParseVary(text)
		if err != nil {
			t.Fatal(err)
		}
		k, err := v.Values(form)
		if got := strings.Join(k.Values, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	f("instances=1..4", Whole, "1 2 3 4")
	f("instances=3", Whole, "3")
	f("max_batch=1,2,4..64", Whole, "1 2 4 8 16 32 64")
	f("max_batch=2,4..64", Whole, "2 4 8 16 32 64")
	f("max_batch=1,10..1000", Whole, "1 10 100 1000")
	f("max_batch=1,3,5..11", Whole, "1 3 5 7 9 11")
	f("max_batch=1,3..9", Whole, "1 3 5 7 9")
	f("max_batch=8,1", Whole, "1 8")
	f("max_num_seqs=64..512", Word, "64 128 256 512")
	f("max_num_seqs=64..500", Word, "64 128 256 500")
	f("queue_delay=0,100us..2ms", Time, "0 100us 200us 400us 800us 1.6ms 2ms")
	f("queue_delay=100us,off,0", Time, "off 0 100us")
	f("queue_delay=0,1ms,2ms,3ms..5ms", Time, "0 1ms 2ms 3ms 4ms 5ms")
	f("queue_delay=0..2ms", Time, "0 250us 500us 750us 1ms 1.25ms 1.5ms 1.75ms 2ms")
	f("queue_delay=0..3us", Time, "0 1us 2us 3us")
	f("queue_delay=1000us", Time, "1ms")
	f("queue_delay=0,100,2000,off", Time, "off 0 100us 2ms")
	f("queue_delay=100..800", Time, "100us 200us 400us 800us")
	f("instances=04", Whole, "4")
	f("max_batch=40,20,10..12", Whole, "10 11 12 20 40")
	f("seqs=0..4", Word, "0 1 2 3 4")
	f("seqs=0..80", Word, "0 10 20 30 40 50 60 70 80")
	f("keep=1m,90s,008", Word, "1m 90s 008")
	f("shape=INPUT0:16,INPUT0:32", Word, "INPUT0:16 INPUT0:32")
	f("protocol=http,grpc", Word, "http grpc")
}

func TestFaultsNameTheColumn(t *testing.T) {
	f := func(text string, form Form, column int, what string) {
		t.Helper()
		v, err := ParseVary(text)
		if err == nil {
			_, err = v.Values(form)
		}
		fault := &SyntaxError{}
		if !errors.As(err, &fault) || fault.Column != column || !strings.Contains(fault.What, what) {
			t.Errorf("%s: %v; want column %d, %s", text, err, column, what)
		}
	}
	f("", Whole, 1, "write a knob")
	f("=1", Whole, 1, "write a knob")
	f("instances", Whole, 10, "add values")
	f("instances=", Whole, 10, "add values")
	f("instances=1..x", Whole, 14, `"x" is not a whole number`)
	f("instances=1,,2", Whole, 13, "a value is missing")
	f("instances=4..1", Whole, 14, "1 is not above 4")
	f("instances=0..4", Whole, 11, "0 is below 1")
	f("instances=1,2,1", Whole, 15, "given twice")
	f("queue_delay=0,-100", Time, 15, "is not a time such as 2ms, a number of microseconds, or off")
	f("queue_delay=0.5", Time, 13, "not a whole number of microseconds")
	f("queue_delay=fast", Time, 13, "not a time")
	f("queue_delay=off..2ms", Time, 13, "a range needs numbers")
	f("queue_delay=1ms,500ns", Time, 17, "not a whole number of microseconds")
	f("seqs=5..2ms", Word, 6, "a range needs numbers or times")
	f("max_batch=3000000000", Whole, 11, "above 2147483647")
	f("queue_delay=é,1ms", Time, 13, "not a time")
	f("seqs=é,1..1", Word, 11, "1 is not above 1")
	f("max_batch=1,3,5..100001", Whole, 15, "more than 1000 values")
}

func FuzzVary(f *testing.F) {
	f.Add("instances=1..4")
	f.Add("queue_delay=0,100us..2ms")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseVary(text)
		if err != nil {
			return
		}
		for _, form := range []Form{Whole, Time, Word} {
			k, err := v.Values(form)
			if err == nil && len(k.Values) == 0 {
				t.Errorf("%q has no value and no fault", text)
			}
		}
	})
}
