package peers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redline-bench/redline/e2e/binary"
)

// venv makes a virtual environment of Python packages in the cache, once, and returns its folder. Packages behind
// "--no-deps" come without what they say that they need.
func venv(ctx context.Context, name string, packages ...string) (string, error) {
	return Fill(ctx, name, "ready", "e2e/peers/venv.sh", packages...)
}

// InstallLlama makes a virtual environment with llama.cpp's server.
func InstallLlama(ctx context.Context) (string, error) {
	return venv(ctx, "llama-"+strings.ReplaceAll(llamaPackage, "==", "-"), llamaPackage)
}

// InstallHypercorn makes a virtual environment with hypercorn, an ASGI server that uses HTTP/2 with and without TLS.
func InstallHypercorn(ctx context.Context) (string, error) {
	return venv(ctx, "hypercorn-0.18.0",
		"hypercorn==0.18.0", "h2==4.4.1", "hpack==4.2.0", "hyperframe==6.1.0", "h11==0.16.0", "priority==2.0.0", "wsproto==1.3.2")
}

// InstallValidators makes a virtual environment with pandas and pyarrow, validators of JSON Schema and CycloneDX, and mypy.
func InstallValidators(ctx context.Context) (string, error) {
	return venv(ctx, "validators-2", "pip==26.3", "pandas==3.1.1", "pyarrow==26.0.1", "jsonschema==4.26.0", "cyclonedx-python-lib[json-validation]==11.12.0", "mypy==2.4.1")
}

// InstallGRPCTools makes a virtual environment with gRPC for Python and its code generator.
func InstallGRPCTools(ctx context.Context) (string, error) {
	return venv(ctx, "grpcio-tools-1.71.0", "grpcio==1.71.0", "grpcio-tools==1.71.0", "grpcio-reflection==1.71.0", "setuptools<81")
}

// InstallServingAPI makes a virtual environment with the messages and services of TensorFlow Serving. The messages of
// TensorFlow come from a small package: TensorFlow itself is not needed.
func InstallServingAPI(ctx context.Context) (string, error) {
	return venv(ctx, "tensorflow-serving-api-2.8.0",
		"grpcio==1.85.1", "protobuf==3.20.3", "--no-deps", "min-tfs-client==1.0.2", "tensorflow-serving-api==2.8.0")
}

// TorchServe is an installation of TorchServe and the Java that it runs on.
type TorchServe struct{ Venv, Java string }

// InstallTorchServe makes a virtual environment with TorchServe. TorchServe asks of torch, which takes gigabytes, a type
// that no response of the tests has: a module of one line stands in.
func InstallTorchServe(ctx context.Context) (*TorchServe, error) {
	java, err := InstallJava(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := venv(ctx, "torchserve-0.12.0",
		"torchserve==0.12.0", "torch-model-archiver==0.12.0", "psutil==7.2.2", "packaging==26.3", "pillow==13.0.0", "pyyaml==6.0.3", "setuptools<81")
	if err != nil {
		return nil, err
	}
	packages, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	if err != nil || len(packages) != 1 {
		return nil, fmt.Errorf("the packages of TorchServe: %v %w", packages, err)
	}
	return &TorchServe{dir, java}, os.WriteFile(filepath.Join(packages[0], "torch.py"), []byte("class Tensor: pass\n"), 0o644)
}

// InstallClients puts the Python packages that the scripts of e2e/clients need into a folder of modules.
func InstallClients(ctx context.Context) (string, error) {
	return Fill(ctx, "clients", "ready-3", "e2e/clients/install.sh")
}

// Lists of the Python programs that drive perf_analyzer or that write the files that Redline writes.
const (
	GenAIPerf     = "e2e/heavy/genai-perf.txt"
	ModelAnalyzer = "e2e/heavy/model-analyzer.txt"
	AIPerf        = "e2e/aiperf/aiperf.txt"
)

// Lists of the KServe v2 servers that are not Triton.
const (
	MLServer = "e2e/kserve/mlserver.txt"
	KServe   = "e2e/kserve/kserve.txt"
)

// Site is the list of the packages that build the site of docs/. scripts/site.sh installs them into the same folder.
const Site = "scripts/site.txt"

// InstallList makes a virtual environment of exactly the packages in a list of the source tree.
func InstallList(ctx context.Context, list string) (string, error) {
	path := filepath.Join(binary.Root(), filepath.FromSlash(list))
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	name := strings.TrimSuffix(filepath.Base(list), ".txt") + "-" + hex.EncodeToString(sum[:4])
	return venv(ctx, name, "--no-deps", "--requirement", path)
}
