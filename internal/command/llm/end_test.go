package llm

import (
	"strings"
	"testing"
)

// What a server needs for tools is said with the option that does without.
func TestAdviceAboutTools(t *testing.T) {
	said := `the server answered with HTTP 400 Bad Request: "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`
	if got := new(session).advice("server 400", said); !strings.Contains(got, "start vLLM with --enable-auto-tool-choice") || !strings.Contains(got, "--extra-inputs tool_choice:none") {
		t.Error(got)
	}
}
