package hpack

// entry is one row of a header table. Its bytes are never changed.
type entry struct {
	name, value []byte
}

// size is what the entry counts for in the table's size (RFC 7541 section 4.1).
func (e entry) size() int { return len(e.name) + len(e.value) + entryCost }

// entryCost is the number of bytes that the standard adds to each entry for its bookkeeping.
const entryCost = 32

// firstDynamic is the index of the newest dynamic entry: the static table has 61 rows, counted from 1.
const firstDynamic = 62

// static is the table of RFC 7541, appendix A; row 0 does not exist.
var static = makeStatic(
	":authority", "", ":method", "GET", ":method", "POST", ":path", "/", ":path", "/index.html",
	":scheme", "http", ":scheme", "https", ":status", "200", ":status", "204", ":status", "206",
	":status", "304", ":status", "400", ":status", "404", ":status", "500", "accept-charset", "",
	"accept-encoding", "gzip, deflate", "accept-language", "", "accept-ranges", "", "accept", "",
	"access-control-allow-origin", "", "age", "", "allow", "", "authorization", "", "cache-control", "",
	"content-disposition", "", "content-encoding", "", "content-language", "", "content-length", "",
	"content-location", "", "content-range", "", "content-type", "", "cookie", "", "date", "", "etag", "",
	"expect", "", "expires", "", "from", "", "host", "", "if-match", "", "if-modified-since", "",
	"if-none-match", "", "if-range", "", "if-unmodified-since", "", "last-modified", "", "link", "",
	"location", "", "max-forwards", "", "proxy-authenticate", "", "proxy-authorization", "", "range", "",
	"referer", "", "refresh", "", "retry-after", "", "server", "", "set-cookie", "",
	"strict-transport-security", "", "transfer-encoding", "", "user-agent", "", "vary", "", "via", "",
	"www-authenticate", "",
)

func makeStatic(pairs ...string) []entry {
	rows := make([]entry, 1, firstDynamic)
	for i := 0; i < len(pairs); i += 2 {
		rows = append(rows, entry{[]byte(pairs[i]), []byte(pairs[i+1])})
	}
	return rows
}
