//go:build linux

// Package deploy checks the Helm chart and the manifests of deploy/ without a cluster: helm renders the chart, the schemas of
// Kubernetes accept the result, and every container is as restricted as it can be.
package deploy

import (
	"bytes"
	"context"
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
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/generated"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// versions are the oldest and the newest version of Kubernetes that is checked.
var versions = []string{"1.29.0", "1.37.0"}

func folder(name ...string) string {
	return filepath.Join(append([]string{binary.Root(), "deploy"}, name...)...)
}

// example is a file with values of the chart.
func example(name string) string { return folder("helm", "redline", "examples", name+".yaml") }

// helm runs helm.
func helm(t *testing.T, args ...string) []byte {
	t.Helper()
	program, err := peers.InstallHelm(t.Context())
	if err != nil {
		outcome.NotTested(t, "the Helm chart", err, "a Go module proxy that has helm")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(home, "none")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out
}

// rendered are the manifests of the chart with the values of a file, or with its defaults, by the file name of their template.
func rendered(t *testing.T, args ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	text := string(helm(t, append([]string{"template", "redline", folder("helm", "redline"), "--kube-version", versions[0]}, args...)...))
	for part := range strings.SplitSeq(text, "---\n") {
		name, content, ok := strings.Cut(strings.TrimPrefix(part, "# Source: redline/templates/"), "\n")
		if !ok || strings.TrimSpace(content) == "" {
			continue
		}
		if out[name] != "" {
			content = out[name] + "---\n" + content
		}
		out[name] = content
	}
	return out
}

// The values of all examples are accepted and render manifests that Kubernetes accepts.
func TestChart(t *testing.T) {
	t.Parallel()
	helm(t, "lint", "--strict", "--kube-version", versions[0], folder("helm", "redline"), "-f", example("profile"))
	for _, values := range []string{"", "profile", "hundred-workers"} {
		args := []string{"--set", "image.tag=1.2.3"}
		if values != "" {
			args = append(args, "-f", example(values))
		}
		dir := t.TempDir()
		for name, content := range rendered(t, args...) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			restricted(t, values+" "+name, content)
		}
		accepted(t, dir)
	}
}

// Mistakes in values are named.
func TestChartRefusesMistakes(t *testing.T) {
	t.Parallel()
	program, err := peers.InstallHelm(t.Context())
	if err != nil {
		outcome.NotTested(t, "the Helm chart", err, "a Go module proxy that has helm")
	}
	f := func(want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, append([]string{"template", "redline", folder("helm", "redline"), "--kube-version", versions[0]}, args...)...)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	f("coordinator.args is empty", "--set", "coordinator.enabled=true")
	f("nats.url is needed", "--set", "nats.enabled=false")
	f("kind", "--set", "worker.kind=DaemonSet")
	f("replica", "--set", "worker.replica=5")
}

// The plain manifests are what the chart renders.
func TestManifests(t *testing.T) {
	t.Parallel()
	for name, want := range rendered(t, "-f", example("profile")) {
		want = "# Made of the Helm chart by go test ./e2e/deploy -update; see docs/fleet-kubernetes.md\n" + want
		generated.File(t, folder("kubernetes", name), want, "go test ./e2e/deploy -update")
		restricted(t, name, want)
	}
	accepted(t, folder("kubernetes"))
}

// accepted holds that the schemas of Kubernetes accept the manifests of a folder, without keys that they do not know.
func accepted(t *testing.T, dir string) {
	t.Helper()
	venv, err := peers.InstallKubernetesSchemas(t.Context())
	if err != nil {
		outcome.NotTested(t, "manifests against the schemas of Kubernetes", err, "python3 with venv and pip")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no manifests in", dir, err)
	}
	args := []string{"--strict", "--quiet"}
	for _, v := range versions {
		args = append(args, "-k", v)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "kubernetes-validate"), append(args, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", dir, err, out)
	}
}

// pod is what the tests read of a Pod.
type pod struct {
	AutomountServiceAccountToken *bool `yaml:"automountServiceAccountToken"`
	SecurityContext              struct {
		RunAsNonRoot   bool `yaml:"runAsNonRoot"`
		SeccompProfile struct {
			Type string `yaml:"type"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	HostNetwork bool `yaml:"hostNetwork"`
	Containers  []struct {
		Name, Image     string
		SecurityContext struct {
			AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
			RunAsUser                int   `yaml:"runAsUser"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		Resources struct{ Requests, Limits map[string]string }
		Env       []struct{ Name, Value string }
	}
}

// restricted holds that each container of a manifest runs without rights, without a file system to write to except its volumes, and
// with bounded resources, and that no manifest contains a secret.
func restricted(t *testing.T, name, content string) {
	t.Helper()
	docs := yaml.NewDecoder(strings.NewReader(content))
	for {
		var doc struct {
			Kind string
			Spec struct {
				Template struct{ Spec *pod }
			}
		}
		err := docs.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if doc.Kind == "Secret" {
			t.Errorf("%s creates a Secret: it must name one", name)
		}
		if p := doc.Spec.Template.Spec; p != nil {
			p.check(t, name+", "+doc.Kind)
		}
	}
}

func (p *pod) check(t *testing.T, name string) {
	t.Helper()
	hold := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Errorf("%s: %s", name, what)
		}
	}
	hold(p.AutomountServiceAccountToken != nil && !*p.AutomountServiceAccountToken, "the Pod has a token of the API server")
	hold(p.SecurityContext.RunAsNonRoot && p.SecurityContext.SeccompProfile.Type == "RuntimeDefault" && !p.HostNetwork, "the Pod is not restricted")
	hold(len(p.Containers) > 0, "no container")
	for i := range p.Containers {
		c := &p.Containers[i]
		s := &c.SecurityContext
		hold(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation && s.RunAsUser > 0, c.Name+" may get rights")
		hold(s.ReadOnlyRootFilesystem, c.Name+" may write to its root file system")
		hold(len(s.Capabilities.Drop) == 1 && s.Capabilities.Drop[0] == "ALL", c.Name+" keeps capabilities")
		for _, what := range []string{"cpu", "memory", "ephemeral-storage"} {
			hold(c.Resources.Requests[what] != "" && c.Resources.Limits[what] != "", c.Name+" has no request or limit of "+what)
		}
		_, tag, ok := strings.Cut(filepath.Base(c.Image), ":")
		hold(ok && tag != "" && tag != "latest", c.Name+" has an image without a version: "+c.Image)
		for _, e := range c.Env {
			hold(e.Value == "", c.Name+" has a value in its variable "+e.Name)
		}
	}
}
