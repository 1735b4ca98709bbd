package option

import (
	"fmt"
	"strconv"
	"strings"
)

// Ints reads 1,4,8 and ranges start:end[:step].
func Ints(v string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(v, ",") {
		nums := [3]int{0, 0, 1}
		fields := strings.Split(part, ":")
		ok := len(fields) <= 3
		for i := 0; ok && i < len(fields); i++ {
			n, err := strconv.Atoi(strings.TrimSpace(fields[i]))
			nums[i], ok = n, err == nil && n > 0
		}
		if len(fields) == 1 {
			nums[1] = nums[0]
		}
		if !ok || nums[1] < nums[0] || (nums[1]-nums[0])/nums[2] > 1000 {
			return nil, fmt.Errorf("is a list of whole numbers above 0, as 1,4,8, or a range as 1:8:1, not %q", v)
		}
		for n := nums[0]; n <= nums[1]; n += nums[2] {
			out = append(out, n)
		}
	}
	return out, nil
}

// Floats reads numbers above 0, as 10 or 10,20.
func Floats(v string) ([]float64, error) {
	return Numbers("a list of numbers above 0, as 10,20", func(f float64) bool { return f > 0 })(v)
}

// Numbers reads numbers that ok accepts, separated by commas. want says what they are.
func Numbers(want string, ok func(float64) bool) func(string) ([]float64, error) {
	return func(v string) ([]float64, error) {
		var out []float64
		for part := range strings.SplitSeq(v, ",") {
			f, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			if err != nil || !(f <= 1e9 && ok(f)) { // false for NaN
				return nil, fmt.Errorf("is %s, not %q", want, v)
			}
			out = append(out, f)
		}
		return out, nil
	}
}
