package redline_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redline-bench/redline"
)

// A test can load its own server. This one has the API of OpenAI; testdata/chat.json has the request.
func ExamplePlan_Run() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices": [{"message": {"content": "Hello"}}]}`)
	}))
	defer server.Close()
	plan, err := redline.Parse("--service-kind", "openai", "--endpoint", "v1/chat/completions", "-u", server.URL, "-m", "tiny",
		"--input-data", "testdata/chat.json", "--async", "--concurrency-range", "4", "--request-count", "100")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := plan.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	level := result.Levels[0]
	fmt.Println(level.Requests, "requests,", level.Failed, "failed,", level.Latency.Percentile(99) < time.Minute)
	// Output: 100 requests, 0 failed, true
}

// Options are checked before anything is sent.
func ExampleParse() {
	_, err := redline.Parse("-m", "tiny", "--request-count", "many")
	fmt.Println(err != nil)
	// Output: true
}
