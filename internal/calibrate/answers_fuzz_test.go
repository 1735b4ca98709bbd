package calibrate

import "testing"

// Each line of the server's log is read or refused.
func FuzzAnswerLine(f *testing.F) {
	f.Add([]byte(`{"id":"a","events_ns":[1,2,3],"tokens":[0,2]}`))
	f.Add([]byte(`{"tokens":[1,2,3]}`))
	f.Add([]byte(`{"events_ns":null}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if a, err := parseAnswer(line); err != nil && (a.ID != "" || a.At != nil) {
			t.Errorf("%+v beside %v", a, err)
		}
	})
}
