//go:build linux

package fleet_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// The names under which this program is another one. So the tests need neither Go nor a network on the machine that runs them.
const (
	natsServer = "nats-server"
	simulator  = "simulated-workers"
)

// linkSelf makes the links to this program in a folder.
func linkSelf(dir string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{natsServer, simulator} {
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// runAsOther runs the program that this one was started as, and ends the process. It returns if this program was started as itself.
func runAsOther() {
	var err error
	switch filepath.Base(os.Args[0]) {
	case natsServer:
		err = runNATS(os.Args[1:])
	case simulator:
		first, _ := strconv.Atoi(os.Args[2]) // simulate writes the arguments
		n, _ := strconv.Atoi(os.Args[3])
		err = simulateWorkers(os.Args[1], first, n)
	default:
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// runNATS does what the main function of nats-server does, with its command line and its configuration files.
func runNATS(args []string) error {
	flags := flag.NewFlagSet(natsServer, flag.ExitOnError)
	options, err := server.ConfigureOptions(flags, args, server.PrintServerAndExit, flags.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	if err := server.Run(s); err != nil {
		return err
	}
	s.WaitForShutdown()
	os.Exit(0)
	return nil
}
