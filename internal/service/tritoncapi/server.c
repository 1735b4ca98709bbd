//go:build native && cgo && linux

// Loading the library, telling its crashes from our own, and everything but inference: options, start, questions,
// stop.
#include "api.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

char *rl_format(const char *format, ...) {
  char *text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) text = NULL;
  va_end(args);
  return text ? text : strdup("out of memory");
}

char *rl_text(const rl_api *api, terror *err) {
  if (!err) return NULL;
  const char *message = api->ErrorMessage(err);
  char *text = strdup(message ? message : "unknown error");
  api->ErrorDelete(err);
  return text;
}

const char *rl_code(const rl_api *api, terror *err) { return err ? api->ErrorCodeString(err) : NULL; }

void rl_drop(const rl_api *api, terror *err) {
  if (err) api->ErrorDelete(err);
}

int rl_preload(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL) != NULL; }

void rl_search_path(const char *dir) {
  const char *name = "LD_LIBRARY_PATH", *old = getenv(name);
  if (!old || !*old) {
    setenv(name, dir, 1);
    return;
  }
  if (strstr(old, dir)) return;
  char *both = rl_format("%s:%s", old, dir);
  setenv(name, both, 1);
  free(both);
}

rl_result rl_open(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return (rl_result){.error = rl_format("unable to load backend library: %s", dlerror())};
  rl_api *api = calloc(1, sizeof *api);
  char *error = NULL;
#define RL_LOOKUP(ret, name, args) *(void **)&api->name = dlsym(handle, "TRITONSERVER_" #name);
  RL_NEEDED(RL_LOOKUP)
  RL_OPTIONAL(RL_LOOKUP)
#define RL_CHECK(ret, name, args) \
  if (!api->name && !error) error = rl_format("%s has no function TRITONSERVER_%s: is it Triton's?", path, #name);
  RL_NEEDED(RL_CHECK)
  uint32_t major = 0, minor = 0;
  if (!error) error = rl_text(api, api->ApiVersion(&major, &minor));
  if (!error && major != 1)
    error = rl_format("triton server API version mismatch: %s has %u.%u, 1.x is needed", path, major, minor);
  if (!error) return (rl_result){.value = api};
  free(api);
  return (rl_result){.error = error};
}

// Crashes.

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

// The server.

// set_options writes the options and returns the first error.
static terror *set_options(const rl_api *api, toptions *o, const rl_options *want) {
  terror *err;
#define RL_SET(name, ...) \
  if ((err = api->ServerOptionsSet##name(o, __VA_ARGS__)) != NULL) return err
  RL_SET(ModelRepositoryPath, want->repository);
  RL_SET(BackendDirectory, want->backends);
  RL_SET(RepoAgentDirectory, want->agents);
  if (api->ServerOptionsSetCacheDirectory) RL_SET(CacheDirectory, want->caches);
  RL_SET(StrictModelConfig, true);
  // Unless asked otherwise: a model that does not load is reported with its reason by the index; others can be used.
  RL_SET(ExitOnError, want->strict != 0);
  RL_SET(StrictReadiness, false);
  // Triton leaves this one to chance: a model that fails might be tried again for minutes, or for ever.
  if (api->ServerOptionsSetModelLoadRetryCount) RL_SET(ModelLoadRetryCount, 0);
  RL_SET(ExitTimeout, want->exit_timeout);
  RL_SET(LogInfo, false);  // warnings and errors go to standard error, as the original lets them
  RL_SET(BackendConfig, "python", "shm-region-prefix-name", want->shm_prefix);
  rl_drop(api, api->ServerOptionsSetCudaMemoryPoolByteSize(o, 0, 1 << 30));  // refused by a library without GPUs
  return NULL;
}

rl_result rl_server_new(rl_api *api, rl_options want) {
  toptions *o = NULL;
  terror *err = api->ServerOptionsNew(&o);
  if (err) return (rl_result){.error = rl_text(api, err)};
  tserver *t = NULL;
  err = set_options(api, o, &want);
  if (!err) err = api->ServerNew(&t, o);
  rl_drop(api, api->ServerOptionsDelete(o));
  const char *code = rl_code(api, err);
  if (err) return (rl_result){.code = code, .error = rl_text(api, err)};
  rl_server *s = calloc(1, sizeof *s);
  *s = (rl_server){.api = api, .server = t};
  return (rl_result){.value = s};
}

char *rl_server_ready(rl_server *s, int *ready) {
  bool is = false;
  terror *err = s->api->ServerIsReady(s->server, &is);
  *ready = is;
  return rl_text(s->api, err);
}

char *rl_model_ready(rl_server *s, const char *model, int64_t version, int *ready) {
  bool is = false;
  terror *err = s->api->ServerModelIsReady(s->server, model, version, &is);
  *ready = is;
  return rl_text(s->api, err);
}

rl_result rl_ask(rl_server *s, int what, const char *model, int64_t version) {
  const rl_api *api = s->api;
  tmessage *m = NULL;
  terror *err = NULL;
  switch (what) {
    case RL_SERVER_METADATA: err = api->ServerMetadata(s->server, &m); break;
    case RL_METADATA: err = api->ServerModelMetadata(s->server, model, version, &m); break;
    case RL_CONFIG: err = api->ServerModelConfig(s->server, model, version, 1, &m); break;
    case RL_STATISTICS: err = api->ServerModelStatistics(s->server, model, version, &m); break;
    case RL_INDEX: err = api->ServerModelIndex(s->server, 0, &m); break;
  }
  rl_result r = {0};
  const char *base = NULL;
  if (!err) err = api->MessageSerializeToJson(m, &base, &r.size);
  if (!err) r.value = memcpy(malloc(r.size + 1), base, r.size);
  if (m) rl_drop(api, api->MessageDelete(m));
  r.error = rl_text(api, err);
  return r;
}

void rl_exit_timeout(rl_server *s, unsigned seconds) {
  if (!s->api->ServerSetExitTimeout) return;
  rl_drop(s->api, s->api->ServerSetExitTimeout(s->server, seconds));
}

char *rl_server_stop(rl_server *s) { return rl_text(s->api, s->api->ServerStop(s->server)); }

char *rl_server_delete(rl_server *s) { return rl_text(s->api, s->api->ServerDelete(s->server)); }
