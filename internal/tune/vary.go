package tune

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/unit"
)

// Form is how the values of a knob are written.
type Form int

// The forms.
const (
	Whole Form = iota // whole numbers from 1
	Time              // times such as 2ms, numbers of microseconds, or "off" where the knob can be off
	Word              // words; a whole number is a word too
)

const (
	mostValues = 1000 // of a knob
	mostSteps  = 16   // of a range of whole numbers that is walked in steps of 1
)

var name = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// SyntaxError is a fault in the text of --vary.
type SyntaxError struct {
	Text   string
	Column int // from 1
	What   string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q, column %d: %s", e.Text, e.Column, e.What)
}

// Vary is a knob as --vary gives it, before its values are read: the form of the values depends on the name.
type Vary struct {
	Name    string
	text    string
	at      int            // where the values start
	columns map[string]int // where each value stands
}

// ParseVary reads NAME=VALUES.
func ParseVary(text string) (Vary, error) {
	head, _, ok := strings.Cut(text, "=")
	v := Vary{Name: head, text: text, at: len(head) + 1}
	switch {
	case !name.MatchString(head):
		return v, v.fault(0, "write a knob and its values, such as instances=1..4")
	case !ok || v.at == len(text):
		return v, v.fault(len(head), "add values, such as %s=1,2,4..64", head)
	}
	return v, nil
}

func (v *Vary) fault(at int, format string, args ...any) error {
	return &SyntaxError{Text: v.text, Column: utf8.RuneCountInString(v.text[:at]) + 1, What: fmt.Sprintf(format, args...)}
}

// Fault is the error that a value, one of those that Values returned, cannot be used.
func (v *Vary) Fault(value, why string) error { return v.fault(v.columns[value], "%s", why) }

// item is a value, or the range from a value to another one.
type item struct {
	from, to value
	ranged   bool
}

// value is one value: its number counts whole numbers or nanoseconds.
type value struct {
	text   string
	number float64
	isTime bool
	word   bool
	at     int
}

// Values reads the values. A range a..b goes on as the values before it show: 1,2,4..64 doubles, 1,3,5..11 adds 2. Without
// such values a range of whole numbers has every number if there are at most 16, else it doubles; a range of times doubles. A
// range from 0 has 8 equal steps instead of doubling. A range always ends with its last value.
func (v *Vary) Values(form Form) (Knob, error) {
	k := Knob{Name: v.Name}
	var list []value
	at := v.at
	for text := range strings.SplitSeq(v.text[v.at:], ",") {
		it, err := v.item(text, at, form)
		if err != nil {
			return k, err
		}
		at += len(text) + 1
		if !it.ranged {
			list = append(list, it.from)
			continue
		}
		more, err := v.expand(list, it)
		if err != nil {
			return k, err
		}
		list = append(list, more...)
	}
	v.columns = map[string]int{}
	for _, one := range list {
		if _, twice := v.columns[one.text]; twice {
			return k, v.fault(one.at, "the value %s is given twice", one.text)
		}
		v.columns[one.text] = one.at
	}
	if form != Word {
		slices.SortStableFunc(list, order)
	}
	for _, one := range list {
		k.Values = append(k.Values, one.text)
	}
	return k, nil
}

// order sorts values by number; words such as off come first.
func order(a, b value) int {
	switch {
	case a.word != b.word && a.word:
		return -1
	case a.word != b.word:
		return 1
	}
	return cmp.Compare(a.number, b.number)
}

func (v *Vary) item(text string, at int, form Form) (item, error) {
	from, to, ranged := strings.Cut(text, "..")
	a, err := v.value(from, at, form)
	if err != nil || !ranged {
		return item{from: a}, err
	}
	end := at + len(from) + len("..")
	b, err := v.value(to, end, form)
	if a.number == 0 && !a.word {
		a.isTime = b.isTime // 0 has no unit
	}
	switch {
	case err != nil:
		return item{}, err
	case a.word || b.word || a.isTime != b.isTime:
		return item{}, v.fault(at, "a range needs numbers or times, such as 1..4 or 100us..2ms")
	case b.number <= a.number:
		return item{}, v.fault(end, "%s is not above %s", b.text, a.text)
	}
	return item{a, b, true}, nil
}

func (v *Vary) value(text string, at int, form Form) (value, error) {
	out := value{text: text, at: at}
	if text == "" {
		return out, v.fault(at, "a value is missing")
	}
	n, err := strconv.Atoi(text)
	switch {
	case form == Time: // a number without a unit is a time, too
	case err == nil && form == Whole && n < 1:
		return out, v.fault(at, "%s is below 1", text)
	case err == nil && form == Whole && n > math.MaxInt32:
		return out, v.fault(at, "%s is above %d", text, math.MaxInt32)
	case err == nil:
		out.number = float64(n)
		if form != Word {
			out.text = strconv.Itoa(n)
		}
		return out, nil
	case form == Whole:
		return out, v.fault(at, "%q is not a whole number", text)
	}
	var bare time.Duration
	if form == Time {
		bare = time.Microsecond // as Triton counts its delays
	}
	d, err := unit.Time(text, bare)
	switch {
	case err == nil && form == Time && d%time.Microsecond != 0:
		return out, v.fault(at, "%s is not a whole number of microseconds", text)
	case err == nil:
		out.number, out.isTime = float64(d), true
		if form == Time {
			out.text = unit.Short(d)
		}
		return out, nil
	case form == Time && text != "off":
		return out, v.fault(at, "%q is not a time such as 2ms, a number of microseconds, or off", text)
	}
	out.word = true
	return out, nil
}

// expand lists the values of a range.
func (v *Vary) expand(before []value, it item) ([]value, error) {
	step, factor := progression(before, it)
	out := []value{it.from}
	count := 0
	for x := it.from.number; x < it.to.number; {
		if next := it.from.like(x); next.number > out[len(out)-1].number && next.number < it.to.number {
			out = append(out, next)
		}
		if count++; count > mostValues {
			return nil, v.fault(it.from.at, "the range has more than %d values", mostValues)
		}
		if factor > 1 {
			x *= factor
		} else {
			x += step
		}
	}
	return append(out, it.to), nil
}

// like is a value of the same kind, a whole number or a whole number of microseconds.
func (a value) like(x float64) value {
	b := value{number: math.Round(x), isTime: a.isTime, at: a.at}
	if a.isTime {
		d := time.Duration(x).Round(time.Microsecond)
		b.number, b.text = float64(d), unit.Short(d)
	} else {
		b.text = strconv.Itoa(int(b.number))
	}
	return b
}

// progression is how a range goes on: by a step or by a factor.
func progression(before []value, it item) (step, factor float64) {
	var shown []float64
	for _, b := range before {
		if !b.word && b.isTime == it.from.isTime {
			shown = append(shown, b.number)
		}
	}
	a := it.from.number
	switch n := len(shown); {
	case n >= 2 && shown[n-2] > 0 && a > shown[n-1] && a*shown[n-2] == shown[n-1]*shown[n-1]:
		return 0, a / shown[n-1]
	case n >= 2 && a-shown[n-1] == shown[n-1]-shown[n-2] && a > shown[n-1]:
		return a - shown[n-1], 0
	case n >= 1 && (a == 2*shown[n-1] || a == 4*shown[n-1] || a == 10*shown[n-1]) && a > 0:
		return 0, a / shown[n-1]
	case n >= 1 && a > shown[n-1] && shown[n-1] > 0:
		return a - shown[n-1], 0
	case a == 0 && (it.from.isTime || it.to.number >= mostSteps):
		return it.to.number / 8, 0
	case it.from.isTime || it.to.number-a >= mostSteps:
		return 0, 2
	}
	return 1, 0
}
