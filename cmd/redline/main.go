// Command redline loads an inference server and tells the truth about it. Started under the name perf_analyzer
// it behaves as that program does.
package main

import (
	"os"

	"github.com/redline-bench/redline/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.Process()))
}
