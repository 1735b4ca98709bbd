package main

import (
	"fmt"
	"os/exec"
	"runtime"

	"github.com/redline-bench/redline/e2e/binary"
)

// pinned puts a command on one core, where the machine has more than one: the client on 0, the server on 1.
func pinned(core int, name string, args ...string) []string {
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		return append([]string{name}, args...)
	}
	return append([]string{"taskset", "-c", fmt.Sprint(core), name}, args...)
}

// startNull starts the canned server on a core of its own.
func startNull(bin string) (*binary.Server, error) {
	return binary.Serve("", pinned(1, bin, "serve", "--null")...)
}
