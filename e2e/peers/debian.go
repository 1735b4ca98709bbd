package peers

import (
	"context"
	"os/exec"
	"path/filepath"
)

// InstallNginx returns the path of nginx: this machine's, or Debian's package unpacked in the cache.
func InstallNginx(ctx context.Context) (string, error) {
	return debian(ctx, "nginx")
}

// InstallChromium returns the path of Chromium: this machine's, or Debian's package unpacked in the cache.
// Roboto and DejaVu come with the package, so that pictures of pages have the same fonts on every machine.
func InstallChromium(ctx context.Context) (string, error) {
	return debianIn(ctx, "debian-chromium-roboto", "chromium")
}

// InstallMPI returns the path of mpiexec: this machine's, or that of Debian's Open MPI unpacked in the cache. The
// programs that it starts find the library.
func InstallMPI(ctx context.Context) (string, error) {
	return debian(ctx, "mpiexec")
}

// InstallJava returns the path of java: this machine's, or Debian's package unpacked in the cache.
func InstallJava(ctx context.Context) (string, error) {
	return debian(ctx, "java")
}

// InstallZsh returns the path of zsh: this machine's, or Debian's package unpacked in the cache.
func InstallZsh(ctx context.Context) (string, error) {
	return debian(ctx, "zsh")
}

// InstallPrometheus returns the path of Prometheus: this machine's, or Debian's package unpacked in the cache.
func InstallPrometheus(ctx context.Context) (string, error) {
	return debian(ctx, "prometheus")
}

// InstallFish returns the path of fish: this machine's, or Debian's package unpacked in the cache.
func InstallFish(ctx context.Context) (string, error) {
	return debian(ctx, "fish")
}

// InstallRPM returns the path of rpm: this machine's, or Debian's package unpacked in the cache.
func InstallRPM(ctx context.Context) (string, error) {
	return debian(ctx, "rpm")
}

// InstallRuby returns the path of ruby: this machine's, or Debian's package unpacked in the cache.
func InstallRuby(ctx context.Context) (string, error) {
	return debian(ctx, "ruby")
}

// InstallQEMU returns the path of QEMU's emulator of a 64-bit ARM processor for single programs: this machine's, or Debian's
// package unpacked in the cache.
func InstallQEMU(ctx context.Context) (string, error) {
	return debian(ctx, "qemu-aarch64-static")
}

// InstallWrk returns the path of wrk: this machine's, or Debian's package unpacked in the cache.
func InstallWrk(ctx context.Context) (string, error) {
	return debian(ctx, "wrk")
}

// InstallH2load returns the path of h2load: this machine's, or Debian's package unpacked in the cache.
func InstallH2load(ctx context.Context) (string, error) {
	return debian(ctx, "h2load")
}

// debian returns the path of a program: this machine's, or a launcher of the one in Debian's package.
func debian(ctx context.Context, program string) (string, error) {
	return debianIn(ctx, "debian-"+program, program)
}

// debianIn keeps the package in a folder with a name of its own: a folder whose packages change needs a new name.
func debianIn(ctx context.Context, folder, program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	dir, err := Fill(ctx, folder, "ready", "e2e/peers/debian.sh", program)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, program), nil
}
