package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
)

// recipe is what a Containerfile says, for an image that starts from nothing and runs nothing while it is built.
type recipe struct {
	copies [][2]string // from, to
	config imageConfig
}

// imageConfig is how a container of the image is started, as the OCI image specification writes it.
type imageConfig struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

// readRecipe reads a Containerfile. It knows the instructions that need no engine.
func readRecipe(name string) (*recipe, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rec := &recipe{config: imageConfig{Labels: map[string]string{}}}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if err := rec.instruction(word, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return rec, nil
}

func (rec *recipe) instruction(word, rest string) error {
	switch word {
	case "FROM":
		if rest != "scratch" {
			return fmt.Errorf("the image must start FROM scratch, not from %q", rest)
		}
	case "COPY":
		from, to, ok := strings.Cut(rest, " ")
		if !ok || !path.IsAbs(to) || strings.HasPrefix(from, "-") {
			return fmt.Errorf("COPY takes a file and an absolute path, not %q", rest)
		}
		rec.copies = append(rec.copies, [2]string{from, strings.TrimPrefix(to, "/")})
	case "LABEL":
		key, value, _ := strings.Cut(rest, "=")
		rec.config.Labels[key] = strings.Trim(value, `"`)
	case "ENV":
		rec.config.Env = append(rec.config.Env, rest)
	case "USER":
		rec.config.User = rest
	case "WORKDIR":
		rec.config.WorkingDir = rest
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &rec.config.Entrypoint)
	default:
		return fmt.Errorf("instruction %s needs an engine", word)
	}
	return nil
}
