package stress

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// Over HTTP, one response that carries the id of another request is found and named, whatever its sum is.
func TestAnAnswerWithAnotherIDOverHTTP(t *testing.T) {
	bin := binary.Built(t)
	server := binary.Served(t, bin)
	id := regexp.MustCompile(`"id":"\d+"`)
	var answers atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server.HTTP})
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/infer") || answers.Add(1) != 20 {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if !id.Match(body) {
			t.Errorf("the answer has no id: %q", body)
		}
		body = id.ReplaceAllFunc(body, func(m []byte) []byte { // the length must stay: a header has it
			return bytes.Replace(m, m[6:len(m)-1], bytes.Repeat([]byte("0"), len(m)-7), 1)
		})
		r.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	expect(t, bin, 1, "stress sequence --protocol HTTP --timeout 0 -r 1 -t 2 -i 20 -u "+front.URL, `^FAILED: sequences mixed up: .*its id is not the id of the request`)
}
