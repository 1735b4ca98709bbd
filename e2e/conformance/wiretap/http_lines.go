package wiretap

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	idMember       = regexp.MustCompile(`"id":"\d+"`)
	sequenceMember = regexp.MustCompile(`"sequence_id":\d+`)
	dataMember     = regexp.MustCompile(`"data":\[[^\]]*\]`)
)

// request takes one HTTP request.
func (n *normalizer) request(r *Request) {
	line := r.Line
	jsonLength := len(r.Body)
	for _, h := range r.Headers {
		name, value, _ := strings.Cut(h, ":")
		switch name {
		case "Host":
			h = "Host: #"
		case "Content-Length":
			h = fmt.Sprintf("Content-Length right: %v", strings.TrimSpace(value) == strconv.Itoa(len(r.Body)))
		case "Inference-Header-Content-Length":
			jsonLength, _ = strconv.Atoi(strings.TrimSpace(value))
			h = name
		}
		line += " | " + h
	}
	if !strings.HasSuffix(r.Line, "/infer") {
		n.around(line + " | " + string(r.Body))
		return
	}
	if jsonLength > len(r.Body) {
		n.infer(line+" | the JSON part is shorter than its length", nil, 0, false, false)
		return
	}
	text, tail := string(r.Body[:jsonLength]), r.Body[jsonLength:]
	var head struct {
		ID         string `json:"id"`
		Parameters struct {
			ID    uint64 `json:"sequence_id"`
			Start bool   `json:"sequence_start"`
			End   bool   `json:"sequence_end"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		line += " | " + err.Error()
	}
	var id *uint64
	if v, err := strconv.ParseUint(head.ID, 10, 64); err == nil {
		id = &v
	}
	text = idMember.ReplaceAllString(text, `"id":"#"`)
	text = sequenceMember.ReplaceAllString(text, `"sequence_id":#`)
	if !n.exact {
		text = dataMember.ReplaceAllStringFunc(text, func(s string) string {
			return fmt.Sprintf(`"data":[%d values]`, strings.Count(s, ",")+1)
		})
	}
	p := head.Parameters
	n.infer(line+" | "+text+" | "+n.data(tail), id, p.ID, p.Start, p.End)
}
