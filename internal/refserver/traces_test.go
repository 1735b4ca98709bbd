package refserver_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/refserver"
)

// The marks are those that Triton's files have for the same requests.
func TestTraces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	s, err := refserver.Start(t.Context(), refserver.Config{Trace: map[string]string{"trace_file": file, "trace_level": "TIMESTAMPS", "trace_rate": "2", "log_frequency": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		code, _, body := call(t, "http://"+s.Addresses().HTTP+"/v2/models/ensemble_chain/infer", `{"id":"seven","inputs":[{"name":"INPUT0","shape":[1,1],"datatype":"FP32","data":[1]}]}`)
		if code != http.StatusOK {
			t.Fatal(code, body)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	compute := []string{"REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END", "REQUEST_END"}
	want := map[string][]string{
		"ensemble_chain":       {"HTTP_RECV_START", "HTTP_RECV_END", "REQUEST_START", "QUEUE_START", "INFER_RESPONSE_COMPLETE", "REQUEST_END", "HTTP_SEND_START", "HTTP_SEND_END"},
		"custom_identity_fp32": compute,
		"identity_stage2_fp32": compute,
	}
	for i := range 2 { // every second of four
		if diff := cmp.Diff(want, marks(t, file+"."+strconv.Itoa(i))); diff != "" {
			t.Errorf("trace %d (-want +got):\n%s", i, diff)
		}
	}
	if more, _ := filepath.Glob(file + ".2"); more != nil {
		t.Error("more traces than the rate allows")
	}
}

// marks reads a file of traces: the names of the timestamps by model. Times must not go backwards from start to end.
func marks(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []struct {
		ID         int    `json:"id"`
		Model      string `json:"model_name"`
		Timestamps []struct {
			Name string `json:"name"`
			Ns   int64  `json:"ns"`
		} `json:"timestamps"`
	}
	if err := json.Unmarshal(text, &lines); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	names := map[int]string{}
	for _, l := range lines {
		if l.Model != "" {
			names[l.ID] = l.Model
		}
	}
	out := map[string][]string{}
	last := map[int]int64{}
	for _, l := range lines {
		for _, m := range l.Timestamps {
			out[names[l.ID]] = append(out[names[l.ID]], m.Name)
			if m.Ns < last[l.ID] && m.Name != "COMPUTE_START" {
				t.Errorf("%s of %s is before the mark in front of it", m.Name, names[l.ID])
			}
			last[l.ID] = m.Ns
		}
	}
	return out
}
