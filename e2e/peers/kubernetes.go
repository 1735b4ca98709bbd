package peers

import (
	"context"
	"path/filepath"
)

// helmVersion is the version of helm.
const helmVersion = "v3.21.4"

// InstallHelm builds helm, which renders charts, and returns its path.
func InstallHelm(ctx context.Context) (string, error) {
	return goTool(ctx, "helm", "helm.sh/helm/v3/cmd/helm", helmVersion)
}

// goTool builds a program from the Go module proxy, once, and returns its path.
func goTool(ctx context.Context, name, pkg, version string) (string, error) {
	dir, err := Fill(ctx, name+"-"+version, "ready", "e2e/peers/gotool.sh", pkg+"@"+version)
	return filepath.Join(dir, name), err
}

// InstallKubernetesSchemas makes a virtual environment with a validator of Kubernetes manifests, which contains the schemas of all
// versions of Kubernetes.
func InstallKubernetesSchemas(ctx context.Context) (string, error) {
	return venv(ctx, "kubernetes-validate-1.37.0", "kubernetes-validate==1.37.0", "pyyaml==6.0.3")
}
