//go:build !(linux && native)

package shm

func createCUDA(int) ([]byte, memory, error) { return nil, nil, ErrNative }
