//go:build linux && native

package mpi

import (
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// libraries are tried in turn: the development link, then the versions of Open MPI 4 and 5, 2 and 3, 1.
func libraries() []string {
	return []string{"libmpi.so", "libmpi.so.40", "libmpi.so.20", "libmpi.so.12"}
}

// library is Open MPI. The numbers are the addresses of its predefined objects, which are the handles that its
// functions take.
type library struct {
	world, intType, errorsReturn uintptr

	mpiInit       func(argc, argv uintptr) int32
	commSize      func(comm uintptr, size *int32) int32
	commRank      func(comm uintptr, rank *int32) int32
	setErrhandler func(comm, handler uintptr) int32
	mpiBarrier    func(comm uintptr) int32
	mpiBcast      func(value *int32, count int32, datatype uintptr, root int32, comm uintptr) int32
	mpiFinalize   func() int32
}

func load() (api, error) {
	var lib uintptr
	for _, name := range libraries() {
		var err error
		// Global: Open MPI's own plug-ins look for its symbols there.
		if lib, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			break
		}
	}
	if lib == 0 {
		return nil, fmt.Errorf("%w (tried %s): install it (Debian: openmpi-bin) or put its folder on LD_LIBRARY_PATH",
			ErrLibrary, strings.Join(libraries(), ", "))
	}
	l := &library{}
	for name, at := range map[string]*uintptr{
		"ompi_mpi_comm_world":    &l.world,
		"ompi_mpi_int":           &l.intType,
		"ompi_mpi_errors_return": &l.errorsReturn,
	} {
		var err error
		if *at, err = purego.Dlsym(lib, name); err != nil {
			return nil, fmt.Errorf("%w: the libmpi found is not Open MPI's: %w", ErrLibrary, err)
		}
	}
	for name, fn := range map[string]any{
		"MPI_Init":                &l.mpiInit,
		"MPI_Comm_size":           &l.commSize,
		"MPI_Comm_rank":           &l.commRank,
		"MPI_Comm_set_errhandler": &l.setErrhandler,
		"MPI_Barrier":             &l.mpiBarrier,
		"MPI_Bcast":               &l.mpiBcast,
		"MPI_Finalize":            &l.mpiFinalize,
	} {
		sym, err := purego.Dlsym(lib, name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
		}
		purego.RegisterFunc(fn, sym)
	}
	return l, nil
}

// init joins the world. By default an MPI error ends the process; init makes MPI return errors instead.
func (l *library) init() error {
	if err := check("MPI_Init", l.mpiInit(0, 0)); err != nil {
		return err
	}
	return check("MPI_Comm_set_errhandler", l.setErrhandler(l.world, l.errorsReturn))
}

func (l *library) size() (int, error) {
	var n int32
	err := check("MPI_Comm_size", l.commSize(l.world, &n))
	return int(n), err
}

func (l *library) rank() (int, error) {
	var n int32
	err := check("MPI_Comm_rank", l.commRank(l.world, &n))
	return int(n), err
}

func (l *library) barrier() error { return check("MPI_Barrier", l.mpiBarrier(l.world)) }

func (l *library) bcast(value *int32, root int) error {
	return check("MPI_Bcast", l.mpiBcast(value, 1, l.intType, int32(root), l.world))
}

func (l *library) finalize() error { return check("MPI_Finalize", l.mpiFinalize()) }

func check(call string, code int32) error {
	if code != 0 {
		return fmt.Errorf("%s returned %d", call, code)
	}
	return nil
}
