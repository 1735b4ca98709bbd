package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A baseline may come from others, and a small file may decode to gigabytes. Our own runs stay far below these limits.
const (
	maxFileBytes = 512 << 20
	maxObjects   = 500_000
	maxLevels    = 10_000
)

// readBounded reads a file that has at most maxFileBytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(content) > maxFileBytes {
		err = fmt.Errorf("%s has more than %d MiB: it is not the result of a run", path, maxFileBytes>>20)
	}
	return content, err
}

// checkSize refuses a result with more parts than a run can have, before they are decoded.
func checkSize(content []byte) error {
	if n := countObjects(content); n > maxObjects {
		return fmt.Errorf("%d JSON objects, at most %d are read", n, maxObjects)
	}
	var probe struct {
		Levels []struct{} `json:"levels"`
	}
	if err := json.Unmarshal(content, &probe); err != nil {
		return err
	}
	if n := len(probe.Levels); n > maxLevels {
		return fmt.Errorf("%d levels, at most %d are read", n, maxLevels)
	}
	return nil
}

// countObjects counts the opening braces outside strings.
func countObjects(content []byte) int {
	n := 0
	for {
		at := bytes.IndexAny(content, `{"`)
		if at < 0 {
			return n
		}
		quote := content[at] == '"'
		content = content[at+1:]
		if !quote {
			n++
			continue
		}
		content = afterString(content)
	}
}

// afterString returns the content after a string whose opening quote was read.
func afterString(content []byte) []byte {
	for {
		at := bytes.IndexAny(content, `"\`)
		if at < 0 || content[at] == '\\' && at+2 > len(content) {
			return nil
		}
		if content[at] == '"' {
			return content[at+1:]
		}
		content = content[at+2:]
	}
}
