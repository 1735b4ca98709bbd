//go:build native && cgo && linux

// Tensors in the memory of a GPU, for --shared-memory cuda: inputs are put there once, outputs are received in
// buffers that are used again and again.
#include "api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE = 0, TO_DEVICE = 1, TO_HOST = 2 };

// A buffer on the GPU that may be used again.
typedef struct buffer {
  struct buffer *next;
  rl_cuda *owner;
  void *base;
  size_t size;
} buffer;

struct rl_cuda {
  int (*SetDevice)(int);
  int (*GetDevice)(int *);
  int (*Malloc)(void **, size_t);
  int (*Memcpy)(void *, const void *, size_t, int);
  const char *(*GetErrorString)(int);
  pthread_mutex_t lock;
  buffer *idle;
};

static void *find(const char *const *names) {
  for (; *names; names++) {
    void *handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (handle) return handle;
  }
  return NULL;
}

rl_result rl_cuda_open(const char *bundled) {
  const char *names[] = {bundled, "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so", "/usr/local/cuda/lib64/libcudart.so", NULL};
  void *handle = find(*bundled ? names : names + 1);
  if (!handle) return (rl_result){.error = strdup("the CUDA runtime (libcudart.so) could not be loaded: put its folder on LD_LIBRARY_PATH")};
  rl_cuda *c = calloc(1, sizeof *c);
  pthread_mutex_init(&c->lock, NULL);
#define RL_CUDA(name) \
  if (!(*(void **)&c->name = dlsym(handle, "cuda" #name))) return (rl_result){.error = strdup("libcudart.so has no function cuda" #name)};
  RL_CUDA(SetDevice)
  RL_CUDA(GetDevice)
  RL_CUDA(Malloc)
  RL_CUDA(Memcpy)
  RL_CUDA(GetErrorString)
  return (rl_result){.value = c};
}

// reserve gets memory on the device that tensors lie on, whatever device the thread is on.
static int reserve(rl_cuda *c, size_t size, void **base) {
  int before = DEVICE, err = c->GetDevice(&before);
  if (!err) err = c->SetDevice(DEVICE);
  if (!err) err = c->Malloc(base, size ? size : 1);
  if (before != DEVICE) c->SetDevice(before);
  return err;
}

rl_result rl_cuda_put(rl_cuda *c, const void *data, size_t size) {
  void *base = NULL;
  int err = reserve(c, size, &base);
  if (!err) err = c->Memcpy(base, data, size, TO_DEVICE);
  // The words are perf_analyzer's, whose outputs come first.
  if (err) return (rl_result){.error = rl_format("unable to allocate memory of %zu bytes on gpu for output: %s", size, c->GetErrorString(err))};
  return (rl_result){.value = base};
}

rl_result rl_cuda_copy(rl_cuda *c, const void *base, size_t size) {
  void *data = malloc(size);
  int err = c->Memcpy(data, base, size, TO_HOST);
  if (!err) return (rl_result){.value = data};
  free(data);
  return (rl_result){.error = rl_format("fetch %zu bytes from the GPU: %s", size, c->GetErrorString(err))};
}

void *rl_cuda_take(rl_cuda *c, size_t size, void **base) {
  pthread_mutex_lock(&c->lock);
  buffer **at = &c->idle;
  while (*at && (*at)->size < size) at = &(*at)->next;
  buffer *b = *at;
  if (b) *at = b->next;
  pthread_mutex_unlock(&c->lock);
  if (!b) {
    b = calloc(1, sizeof *b);
    b->owner = c;
    b->size = size;
    if (reserve(c, size, &b->base)) {
      free(b);
      return NULL;
    }
  }
  *base = b->base;
  return b;
}

void rl_cuda_give(void *taken) {
  buffer *b = taken;
  rl_cuda *c = b->owner;
  pthread_mutex_lock(&c->lock);
  b->next = c->idle;
  c->idle = b;
  pthread_mutex_unlock(&c->lock);
}
