//go:build linux

package deploy

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// bin is the folder with the real programs.
var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// The program knows the command and the options of every container.
func TestContainersHaveOptionsOfTheProgram(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(folder("kubernetes", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		docs := yaml.NewDecoder(strings.NewReader(string(content)))
		for {
			var doc struct {
				Spec struct {
					Template struct {
						Spec struct {
							Containers []struct {
								Image string
								Args  []string
							}
						}
					}
				}
			}
			if err := docs.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, c := range doc.Spec.Template.Spec.Containers {
				if !strings.Contains(c.Image, "/redline:") {
					continue
				}
				found++
				if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append(c.Args, "--help")...).CombinedOutput(); err != nil {
					t.Errorf("%s: redline %s: %v\n%s", path, strings.Join(c.Args, " "), err, out)
				}
			}
		}
	}
	if found != 2 {
		t.Errorf("%d containers of the program, not a worker and a run", found)
	}
}

// NATS accepts its configuration.
func TestNATSConfiguration(t *testing.T) {
	t.Parallel()
	server, err := peers.InstallNATS(t.Context())
	if err != nil {
		outcome.NotTested(t, "the configuration of NATS", err, "a Go module proxy that has nats-server")
	}
	var doc struct{ Data map[string]string }
	content, err := os.ReadFile(folder("kubernetes", "nats.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nats.conf": strings.Replace(doc.Data["nats.conf"], "store_dir: /data", "store_dir: "+dir, 1),
		"auth.conf": "authorization { users: [{ nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 }] }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), server, "-t", "-c", filepath.Join(dir, "nats.conf"))
	cmd.Env = []string{"POD_NAME=nats-0"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
