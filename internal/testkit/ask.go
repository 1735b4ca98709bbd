package testkit

import (
	"io"
	"net/http"
	"testing"
)

// Ask sends a request without a body and returns the response, whose body is read. change may alter the request; nil
// leaves it as it is.
func Ask(tb testing.TB, method, url string, change func(*http.Request)) (*http.Response, string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res, string(body)
}
