//go:build !(linux && native)

package mpi

func load() (api, error) { return nil, ErrNative }
