//go:build unix

package manual

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// The programs that the scripts call are links to this test binary: it changes addresses to those of the reference server, bounds the
// load, and starts the real program. Environment variables tell it what it needs.
const (
	binVariable     = "MANUAL_BIN"     // folder with the real programs
	rootVariable    = "MANUAL_ROOT"    // root of the source tree
	pathVariable    = "MANUAL_PATH"    // PATH without the links
	portsVariable   = "MANUAL_PORTS"   // addresses of the reference servers by command and service, as JSON
	optionsVariable = "MANUAL_OPTIONS" // not empty: only check the options
)

// names of the programs that scripts call.
var programs = []string{"redline", "redline-native", "perf_analyzer", "make", "mpiexec"}

// standIn runs the program of a script and returns the exit code for the script: 0 if the program ended as a reader of the page
// expects.
func standIn(name string, args []string) int {
	switch name {
	case "make":
		return check(exec.Command("/usr/bin/env", append([]string{"-u", "MAKEFLAGS", "PATH=" + os.Getenv(pathVariable), "make", "-n", "-C", os.Getenv(rootVariable)}, args...)...))
	case "mpiexec":
		if i := slices.Index(args, "redline-native"); i >= 0 {
			return standIn("redline", args[i+1:])
		}
		return 0
	case "redline-native":
		name = "redline"
	}
	program := filepath.Join(os.Getenv(binVariable), name)
	if os.Getenv(optionsVariable) != "" {
		return check(exec.Command(program, append(args, "--help")...))
	}
	var servers map[string]map[string]string
	if err := json.Unmarshal([]byte(os.Getenv(portsVariable)), &servers); err != nil {
		return fail("the addresses of the servers: %v", err)
	}
	command := ""
	if name == "redline" && len(args) > 0 {
		command = args[0]
	}
	ports := servers[""]
	if command == "tune" {
		ports = servers["tune"]
	}
	args = redirect(command, args, ports)
	return run(exec.Command(program, bounded(name, command, args)...), command)
}

// check runs a command that ends by itself.
func check(cmd *exec.Cmd) int {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fail("%v: %v\n%s", cmd.Args, err, out)
	}
	return 0
}

func fail(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return 1
}

// address is HOST:PORT or URL of an example, with the port of a service.
var address = regexp.MustCompile(`^(https?://)?[A-Za-z][A-Za-z0-9.-]*(:(\d+))?(/.*)?$`)

// service is the port of the reference server for a port of the examples. A language model at port 8000 has OpenAI's API.
func service(command, port string) string {
	language := command == "llm"
	switch {
	case language && port != "8001" && port != "9001":
		return "openai"
	case port == "8001" || port == "9001":
		return "grpc"
	case port == "8002":
		return "metrics"
	case port == "8500":
		return "tfserving"
	case port == "8080":
		return "torchserve"
	case port == "9000":
		return "openai"
	}
	return "http"
}

// redirect replaces the addresses of servers, also in the file of a scenario.
func redirect(command string, args []string, ports map[string]string) []string {
	args = slices.Clone(args)
	traffic := command
	if command == "find" && len(args) > 1 {
		traffic = args[1]
	}
	for i := 1; i < len(args); i++ {
		switch args[i-1] {
		case "-u", "--url":
			args[i] = local(traffic, args[i], ports)
		case "--server-metrics", "--gpu-telemetry":
			args[i] = ports["metrics"]
		case "run":
			if i == 1 {
				args[i] = localScenario(args[i], ports)
			}
		}
	}
	return args
}

func local(command, value string, ports map[string]string) string {
	m := address.FindStringSubmatch(value)
	if m == nil {
		return value
	}
	return ports[service(command, m[3])] + m[4]
}

var scenarioKey = regexp.MustCompile(`^(\s+)(llm|profile|url):\s*(\S*)`)

// localScenario writes the scenario with addresses of the reference server to a file beside it and returns its name.
func localScenario(file string, ports map[string]string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return file
	}
	traffic := ""
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := scenarioKey.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[2] == "url":
			lines[i] = m[1] + "url: " + local(traffic, m[3], ports)
		default:
			traffic = m[2]
		}
	}
	changed := "local-" + filepath.Base(file)
	if err := os.WriteFile(changed, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return file
	}
	return changed
}

// bounded adds options that end the command soon. The options of the page come first and stay.
func bounded(name, command string, args []string) []string {
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return slices.ContainsFunc(options, func(o string) bool { return a == o || strings.HasPrefix(a, o+"=") })
		})
	}
	if name == "perf_analyzer" {
		return append(args, "-p", "100", "-s", "999")
	}
	switch command {
	case "profile":
		if !has("--request-count", "--stages", "--fixed-schedule") {
			args = append(args, "--duration", "200ms")
		}
	case "llm":
		if has("--benchmark-duration") {
			args = append(args, "--benchmark-duration", "0.5")
		} else if !has("--request-count", "--fixed-schedule", "--input-file", "--input-data") {
			args = append(args, "--request-count", "4")
		}
	case "find":
		args = append(args, "--settle", "100ms", "--probe-min", "200ms", "--probe-max", "300ms", "--confirm", "300ms", "--budget", "1s")
	case "simple":
		args = append(args, "-c", "20", "-w", "2")
	case "stress":
		args = append(args, "-i", "2")
	case "serve":
		args = append(args, "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0")
	case "dash":
		args = append(args, "--listen", "127.0.0.1:0")
	}
	return args
}

// Exit codes besides 0 that a good command may have against a fast server on a busy machine: unstable or out of time, no request in a
// window, rules that do not hold or cannot be judged, interrupted by this test.
var expected = []int{2, 3, 4, 5, interrupted}

const interrupted = 130

// ready is what the commands that serve print when they are ready.
var ready = map[string]string{"serve": "ready {", "dash": "http://"}

// patience is how long a command may take before it is interrupted, as a reader would interrupt a run of ten minutes.
const patience = 2 * time.Second

// run runs a command, interrupts it when it serves or takes long, and judges its exit code.
func run(cmd *exec.Cmd, command string) int {
	var out binary.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, &out, &out
	if err := cmd.Start(); err != nil {
		return fail("%v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	interrupt, kill := time.After(patience), time.After(testkit.Limit)
	if ready[command] != "" {
		interrupt = nil // it is interrupted when it is ready
	}
	for {
		select {
		case <-ended:
			code := cmd.ProcessState.ExitCode()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && status.Signal() == syscall.SIGINT {
				code = interrupted // on a slow machine, before the program handles signals
			}
			if code == 0 || slices.Contains(expected, code) || command == "doctor" && code == 1 {
				os.Stdout.WriteString(out.String())
				return 0
			}
			return fail("%v: exit code %d\n%s", cmd.Args, code, out.String())
		case <-interrupt:
			cmd.Process.Signal(syscall.SIGINT)
		case <-kill:
			cmd.Process.Kill()
			return fail("%v: no end within %v\n%s", cmd.Args, testkit.Limit, out.String())
		case <-tick.C:
			if text := ready[command]; text != "" && strings.Contains(out.String(), text) {
				cmd.Process.Signal(syscall.SIGINT)
				tick.Stop() // a second signal would end a program that has just restored the default of signals
			}
		}
	}
}
