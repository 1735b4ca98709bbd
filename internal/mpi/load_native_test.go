//go:build linux && native

package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/mpi"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// rankEnv makes the test binary one rank instead of the tests: what the variable names is done.
const rankEnv = "REDLINE_MPI_RANK"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(rankEnv) {
	case "":
		os.Exit(m.Run())
	case "play":
		err = play()
	case "die":
		err = die()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play goes once through everything, and tells the outcome in one line.
func play() error {
	ctx := context.Background()
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	if err := w.Barrier(ctx); err != nil {
		return err
	}
	v := int32(10 * w.Rank())
	if err := w.BcastInt(ctx, w.Size()-1, &v); err != nil {
		return err
	}
	// Rank r is stable from pass r on: all ranks must continue until the last one is.
	passes := 0
	for all := false; !all; passes++ {
		if all, err = w.AllStable(ctx, passes >= w.Rank()); err != nil {
			return err
		}
	}
	if !survives() {
		return errors.New("a nil pointer no longer panics in Go's way: MPI took the signal over")
	}
	noRoot := w.BcastInt(ctx, w.Size(), &v) != nil
	fmt.Printf("rank %d of %d: value %d, %d passes, error for a rank that is not there %v\n", w.Rank(), w.Size(), v, passes, noRoot)
	return w.Finalize(ctx)
}

// survives reports whether the Go runtime still handles its own signals.
func survives() (ok bool) {
	defer func() { ok = recover() != nil }()
	var p *int
	*p = 1
	return false
}

// die ends rank 0 without a word while the others wait for it.
func die() error {
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	if w.Rank() == 0 {
		os.Exit(3)
	}
	return w.Barrier(context.Background())
}

// needMPI ends the test where Open MPI is not installed.
func needMPI(t *testing.T) string {
	t.Helper()
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		outcome.NotTested(t, "MPI", err, "openmpi-bin (Debian)")
	}
	return mpirun
}

func ranks(t *testing.T, what, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), rankEnv+"="+what)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		t.Fatalf("it hangs; %s", stderr.String())
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

func three(program string) []string {
	return []string{"--allow-run-as-root", "--oversubscribe", "-np", "3", program, "-test.run=^$"}
}

func TestThreeRanks(t *testing.T) {
	out, err := ranks(t, "play", needMPI(t), three(os.Args[0])...)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(strings.Lines(out))
	var want []string
	for r := range 3 {
		want = append(want, fmt.Sprintf("rank %d of 3: value 20, 3 passes, error for a rank that is not there true\n", r))
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
}

// alone runs a program with the libraries that mpirun finds, and without what mpirun tells its ranks.
const alone = `for v in $(env | sed -n 's/^\(OMPI_[A-Za-z_]*\|PMIX_[A-Z_]*\)=.*/\1/p'); do
	case $v in PMIX_INSTALL_PREFIX|OMPI_MCA_plm*) ;; *) unset "$v";; esac
done
exec "$0" "$@"`

func TestWithoutMpirunTheWorldIsOne(t *testing.T) {
	out, err := ranks(t, "play", needMPI(t), "--allow-run-as-root", "-np", "1", "sh", "-c", alone, os.Args[0], "-test.run=^$")
	want := "rank 0 of 1: value 0, 1 passes, error for a rank that is not there true\n"
	if err != nil || out != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

func TestDeadRankEndsTheOthers(t *testing.T) {
	_, err := ranks(t, "die", needMPI(t), three(os.Args[0])...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("mpirun ended with %v, want the status of the dead rank, 3", err)
	}
}
