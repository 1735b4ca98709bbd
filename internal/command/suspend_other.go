//go:build !unix

package command

import "github.com/redline-bench/redline/internal/term"

// suspendable does nothing: this system does not stop processes from the keyboard.
func (*Signals) suspendable(*term.Line) {}
