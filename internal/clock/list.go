package clock

import "strconv"

// apart is the least time between two entries of a list: programs that read lists of times, GenAI-Perf for one,
// divide by the time between the first answer and the last.
const apart = 100 // nanoseconds

// AppendWall adds a reading of Now, as Unix time, to a list in text, and returns the entry as it was written: what came
// with one read, and so at one time, stands a little apart. Last is the entry before it; 0 where there is none.
func AppendWall(list []byte, last, t int64) ([]byte, int64) {
	at := Wall(t)
	if last != 0 {
		list = append(list, ',')
		if at <= last {
			at = last + apart
		}
	}
	return strconv.AppendInt(list, at, 10), at
}
