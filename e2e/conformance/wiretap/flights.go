package wiretap

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// several is how many requests of a sequence must be in progress at once to say that it does not wait for responses. The
// request that ends a sequence may overtake a response by chance.
const several = 3

// flights follows how many requests of each sequence are in progress.
type flights struct {
	on   map[flight]uint64 // the sequence
	of   map[uint64]int
	most int
}

// flight is a request that has not been answered: the only one of its call or connection, or one of a stream.
type flight struct {
	call int
	id   uint64
}

func (f *flights) begin(r *Request, id *uint64, sequence uint64) {
	at := flight{call: r.Call}
	if r.Method == "ModelStreamInfer" && id != nil {
		at.id = *id
	}
	f.on[at] = sequence
	f.of[sequence]++
	f.most = max(f.most, f.of[sequence])
}

func (f *flights) end(r *Request) {
	at := flight{call: r.Call}
	if r.Method == "ModelStreamInfer" {
		var m pb.ModelStreamInferResponse
		if proto.Unmarshal(r.Message, &m) != nil {
			return
		}
		at.id, _ = strconv.ParseUint(m.GetInferResponse().GetId(), 10, 64)
	}
	if sequence, ok := f.on[at]; ok {
		delete(f.on, at)
		f.of[sequence]--
	}
}
