package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
)

// An output of another size than its datatype and shape need is a failure, in each way in which its data may come.
func TestOutputSizes(t *testing.T) {
	const (
		fits   = ""
		binary = `"parameters":{"binary_data_size":%d}`
		region = `"parameters":{"shared_memory_region":"r","shared_memory_byte_size":%d}`
	)
	f := func(name, datatype, shape, how string, size int, shared bool, want string) {
		t.Helper()
		data := 0
		if strings.Contains(how, "%d") {
			if !shared {
				data = size
			}
			how = fmt.Sprintf(how, size)
		}
		head := fmt.Sprintf(`{"outputs":[{"name":"OUT","datatype":%q,"shape":%s,%s}]}`, datatype, shape, how)
		r := &wire.Reply{Status: 200, Number: int64(len(head)), Body: append([]byte(head), make([]byte, data)...)}
		req := &request{}
		if shared {
			req.outputs = []byte(" ")
		}
		err := new(checker).check(r, req, &service.Vars{})
		if want == fits && err != nil || want != fits && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	f("right", "INT32", "[1,16]", binary, 64, false, fits)
	f("nothing written", "INT32", "[1,16]", binary, 0, false, "output OUT has 0 bytes, which does not fit its datatype and shape, INT32 [1,16]: the model wrote nothing; a Python backend")
	f("short", "INT32", "[1,16]", binary, 60, false, "has 60 bytes")
	f("text", "BYTES", "[2]", binary, 8, false, fits)
	f("text cut off", "BYTES", "[2]", binary, 7, false, "BYTES [2]")
	f("no elements", "FP32", "[0]", binary, 0, false, fits)
	f("JSON", "INT32", "[2,2]", `"data":[1,2,3,4]`, 0, false, fits)
	f("nested JSON", "INT32", "[2,2]", `"data":[[1,2],[3,4]]`, 0, false, fits)
	f("short JSON", "INT32", "[2,2]", `"data":[[1,2],[3]]`, 0, false, "has 12 bytes")
	f("deep JSON", "INT32", "[1]", `"data":`+strings.Repeat("[", 100)+"1"+strings.Repeat("]", 100), 0, false, "INT32 [1]")
	f("shared", "INT32", "[1,16]", region, 64, true, fits)
	f("shared, the size of the memory", "INT32", "[1,16]", region, 1000, true, fits)
	f("shared, nothing written", "INT32", "[1,16]", region, 0, true, "has 0 bytes")
}
