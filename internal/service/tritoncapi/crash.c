//go:build native && cgo && linux

// A crash of the library is told from one of our own, and said in one line.
#include "shim.h"

#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static const int caught[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// Written once, before the handlers are installed.
static struct sigaction before[NSIG];
static uintptr_t own_start, own_end;  // this program's own code, Go and shim
static const char *last_line;

static uintptr_t program_counter(const ucontext_t *c) {
#if defined(__x86_64__)
  return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (uintptr_t)c->uc_mcontext.pc;
#else
#error "which register is the program counter?"
#endif
}

static void on_crash(int sig, siginfo_t *info, void *context) {
  uintptr_t pc = program_counter(context);
  int sent = info->si_code <= 0 && info->si_pid != getpid();  // by another process
  if (sent || (pc >= own_start && pc < own_end)) {
    before[sig].sa_sigaction(sig, info, context);
    return;
  }
  ssize_t ignored = write(STDERR_FILENO, last_line, strlen(last_line));
  (void)ignored;
  signal(sig, SIG_DFL);
  raise(sig);  // delivered when this handler returns
}

static int find_own(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size, (void)data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
    uintptr_t start = info->dlpi_addr + p->p_vaddr;
    if (!own_start || start < own_start) own_start = start;
    if (start + p->p_memsz > own_end) own_end = start + p->p_memsz;
  }
  return 1;  // the first entry is the program itself
}

void rl_catch_crashes(const char *line) {
  if (last_line) return;
  last_line = strdup(line);
  dl_iterate_phdr(find_own, NULL);
  for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
    // Go wants its flags: the alternate stack above all.
    sigaction(caught[i], NULL, &before[caught[i]]);
    if (!(before[caught[i]].sa_flags & SA_SIGINFO)) continue;
    struct sigaction act = before[caught[i]];
    act.sa_sigaction = on_crash;
    act.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    sigaction(caught[i], &act, NULL);
  }
}
