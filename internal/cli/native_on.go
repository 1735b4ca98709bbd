//go:build native

package cli

const native = true
