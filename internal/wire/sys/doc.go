// Package sys has the system calls of the hot path, as raw calls: they do not tell the scheduler that the thread may wait,
// which saves as much time as the parsing of a response takes. It has functions on Linux only.
//
// Four rules make raw calls safe:
//
//  1. The descriptor does not block, or the call has a timeout of 0. So the call never waits while it holds a processor.
//  2. A call that may copy more than brief bytes is not raw: a garbage collection would wait for the end of the copy.
//  3. Pointers become integers inside the argument list of syscall.Syscall or syscall.RawSyscall itself. Only there does the
//     compiler keep the memory alive and in its place until the call returns.
//  4. Under the race detector, reads and writes also pass through the standard library. It tells the detector that a read
//     happens after the write of the bytes that it reads.
package sys
