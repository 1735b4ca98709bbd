//go:build !unix

package command

import "os"

// suspendSignals are none: this system does not stop processes from the keyboard.
func suspendSignals() []os.Signal { return nil }

func stopProcess() {}
