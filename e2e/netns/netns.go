//go:build linux

// Package netns runs tests in a network namespace that has a loopback device and no way out, and makes networks of several namespaces, with
// delay and loss.
package netns

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside marks the copy of the tests that runs in the namespace.
const inside = "REDLINE_NETNS_INSIDE"

// Inside reports whether this program runs in such a namespace.
func Inside() bool { return os.Getenv(inside) != "" }

// Enter runs this program, with the built programs of bin, again in a network namespace of its own; done tells that it
// did, and code is how that ended. In the namespace it makes 127.0.0.1 work. Where the machine permits no namespace
// it does nothing.
func Enter(bin string) (code int, done bool, err error) {
	if Inside() {
		return 0, false, raiseLoopback()
	}
	code, done = rerun("REDLINE_BIN_DIR="+bin, inside+"=1")
	return code, done, nil
}

// rerun runs this program again in a network namespace of its own, with variables added to its environment. ok is false
// where the machine does not permit that.
func rerun(env ...string) (code int, ok bool) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	_ = cmd.Wait() // the exit code says it
	return cmd.ProcessState.ExitCode(), true
}

// raiseLoopback makes 127.0.0.1 work in a new namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}
