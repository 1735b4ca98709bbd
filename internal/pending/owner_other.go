//go:build !unix

package pending

import (
	"errors"
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) {}

func duplicate(int) (*os.File, error) { return nil, errors.ErrUnsupported }
