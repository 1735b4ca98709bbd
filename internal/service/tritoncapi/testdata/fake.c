// A stand-in for libtritonserver.so: enough of its C API for the shim, with models that behave by their names.
//
//   echo     answers with its inputs under the names OUT0, OUT1, ...
//   inline   the same, from within the send itself, as a response cache does
//   early    gives the request back before the answer; late: 20 ms after it
//   stream   as many answers as the first byte of its input says, then an empty end
//   fail     answers with an error; broken: one answer, then an error
//   refuse   does not take the request
//   hang     never answers; canceling it does nothing
//   slow     answers after 50 ms, or at once when it is canceled; where the first byte is 255 only when it is canceled
//   crash    dereferences NULL on a thread of its own; abort: as a failed assertion does
//   vars     answers with its id, flags and correlation id
//   unready  is in the repository but did not load
//
// ServerStop fails when requests, responses or buffers are still there, so that a test sees what leaks.
#define _GNU_SOURCE
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { char text[200]; } Error;
typedef struct { char *json; } Message;
typedef struct { char repository[1000]; } Options;
typedef struct { int x; } Server;

typedef Error *(*alloc_fn)(void *, const char *, size_t, int32_t, int64_t, void *, void **, void **, int32_t *, int64_t *);
typedef Error *(*free_fn)(void *, void *, void *, size_t, int32_t, int64_t);
typedef struct { alloc_fn alloc; free_fn free; } Allocator;

typedef struct { char name[64]; int32_t type; int64_t shape[8]; uint64_t dims; const void *data; size_t size; void *owned; int32_t memory; } Tensor;
typedef struct {
  char model[64], id[64];
  Tensor in[8];
  uint32_t n, flags;
  uint64_t sequence;
  Allocator *allocator;
  void *alloc_user;
  void (*release)(void *, uint32_t, void *);
  void *release_user;
  void (*respond)(void *, uint32_t, void *);
  void *respond_user;
  atomic_int sent, canceled;
} Request;
typedef struct { Tensor out[8]; uint32_t n; Error *error; Allocator *allocator; } Response;

static atomic_int requests, responses, buffers, successes;

static Error *fail(const char *text) {
  Error *e = calloc(1, sizeof *e);
  snprintf(e->text, sizeof e->text, "%s", text);
  return e;
}

const char *TRITONSERVER_ErrorMessage(Error *e) { return e->text; }
const char *TRITONSERVER_ErrorCodeString(Error *e) { return "Internal"; }
Error *TRITONSERVER_ErrorNew(int code, const char *text) { return fail(text); }
void TRITONSERVER_ErrorDelete(Error *e) { free(e); }
Error *TRITONSERVER_ApiVersion(uint32_t *major, uint32_t *minor) { *major = 1, *minor = 34; return NULL; }

Error *TRITONSERVER_ServerOptionsNew(Options **o) { *o = calloc(1, sizeof **o); return NULL; }
Error *TRITONSERVER_ServerOptionsDelete(Options *o) { free(o); return NULL; }
Error *TRITONSERVER_ServerOptionsSetModelRepositoryPath(Options *o, const char *p) {
  snprintf(o->repository, sizeof o->repository, "%s", p);
  return NULL;
}
#define ACCEPT(name, ...) Error *TRITONSERVER_ServerOptionsSet##name(Options *o, __VA_ARGS__) { (void)o; return NULL; }
ACCEPT(StrictModelConfig, bool v)
ACCEPT(StrictReadiness, bool v)
ACCEPT(ExitOnError, bool v)
ACCEPT(ExitTimeout, unsigned v)
ACCEPT(LogInfo, bool v)
ACCEPT(CudaMemoryPoolByteSize, int d, uint64_t v)
ACCEPT(BackendDirectory, const char *v)
ACCEPT(RepoAgentDirectory, const char *v)
ACCEPT(BackendConfig, const char *a, const char *b, const char *c)

Error *TRITONSERVER_ServerNew(Server **s, Options *o) {
  if (strstr(o->repository, "refused")) return fail("the repository is refused");
  if (strstr(o->repository, "slow")) sleep(30);
  *s = calloc(1, sizeof **s);
  return NULL;
}
Error *TRITONSERVER_ServerStop(Server *s) {
  int r = requests, a = responses, b = buffers;
  if (!r && !a && !b) return NULL;
  char text[200];
  snprintf(text, sizeof text, "left behind: %d requests, %d responses, %d buffers", r, a, b);
  return fail(text);
}
Error *TRITONSERVER_ServerDelete(Server *s) { free(s); return NULL; }
Error *TRITONSERVER_ServerIsReady(Server *s, bool *ready) { *ready = true; return NULL; }
Error *TRITONSERVER_ServerModelIsReady(Server *s, const char *m, int64_t v, bool *ready) {
  *ready = strcmp(m, "unready") && strcmp(m, "missing") && (v == -1 || v == 1);
  return NULL;
}

static Error *message(Message **m, char *json) {
  *m = calloc(1, sizeof **m);
  (*m)->json = json;
  return NULL;
}
static char *say(const char *format, ...) {
  char *text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) abort();
  va_end(args);
  return text;
}
Error *TRITONSERVER_ServerMetadata(Server *s, Message **m) {
  return message(m, say("{\"name\":\"fake\",\"extensions\":[\"classification\",\"statistics\"]}"));
}
Error *TRITONSERVER_ServerModelMetadata(Server *s, const char *name, int64_t v, Message **m) {
  return message(m, say("{\"name\":\"%s\",\"versions\":[\"1\"],\"platform\":\"fake\",\"inputs\":[{\"name\":\"IN0\",\"datatype\":"
                        "\"INT32\",\"shape\":[-1,4]}],\"outputs\":[{\"name\":\"OUT0\",\"datatype\":\"INT32\",\"shape\":[-1,4]}]}", name));
}
Error *TRITONSERVER_ServerModelConfig(Server *s, const char *name, int64_t v, uint32_t version, Message **m) {
  const char *more = "";
  if (!strcmp(name, "stream")) more = ",\"model_transaction_policy\":{\"decoupled\":true}";
  if (!strcmp(name, "vars")) more = ",\"sequence_batching\":{}";
  if (!strcmp(name, "chain"))
    more = ",\"platform\":\"ensemble\",\"ensemble_scheduling\":{\"step\":[{\"model_name\":\"echo\",\"model_version\":\"-1\"},"
           "{\"model_name\":\"late\",\"model_version\":1}]}";
  return message(m, say("{\"name\":\"%s\",\"max_batch_size\":8,\"input\":[{\"name\":\"IN0\",\"optional\":false}],\"output\":"
                        "[{\"name\":\"OUT0\"}],\"dynamic_batching\":{}%s}", name, more));
}
#define STATS "{\"name\":\"%s\",\"version\":\"1\",\"inference_count\":%d,\"execution_count\":%d,\"inference_stats\":{" \
  "\"success\":{\"count\":%d,\"ns\":7},\"fail\":{\"count\":0,\"ns\":0},\"queue\":{\"count\":1,\"ns\":2},\"compute_input\":{\"count\":3,\"ns\":4}," \
  "\"compute_infer\":{\"count\":5,\"ns\":6},\"compute_output\":{\"count\":7,\"ns\":8},\"cache_hit\":{\"count\":9,\"ns\":10},\"cache_miss\":{\"count\":11,\"ns\":12}}}"
Error *TRITONSERVER_ServerModelStatistics(Server *s, const char *name, int64_t v, Message **m) {
  int n = successes;
  if (*name) return message(m, say("{\"model_stats\":[" STATS "]}", name, n, n, n));
  return message(m, say("{\"model_stats\":[" STATS "," STATS "," STATS "," STATS "]}", "chain", n, n, n, "echo", n, n, n, "late", n, n, n, "stranger", n, n, n));
}
Error *TRITONSERVER_ServerModelIndex(Server *s, uint32_t flags, Message **m) {
  return message(m, say("[{\"name\":\"echo\",\"version\":\"1\",\"state\":\"READY\"},"
                        "{\"name\":\"unready\",\"version\":\"1\",\"state\":\"UNAVAILABLE\",\"reason\":\"Internal: no such file\"}]"));
}
Error *TRITONSERVER_MessageSerializeToJson(Message *m, const char **base, size_t *size) {
  *base = m->json, *size = strlen(m->json);
  return NULL;
}
Error *TRITONSERVER_MessageDelete(Message *m) { free(m->json); free(m); return NULL; }

Error *TRITONSERVER_ResponseAllocatorNew(Allocator **a, alloc_fn alloc, free_fn release, void *start) {
  *a = calloc(1, sizeof **a);
  **a = (Allocator){alloc, release};
  return NULL;
}
Error *TRITONSERVER_ResponseAllocatorDelete(Allocator *a) { free(a); return NULL; }

Error *TRITONSERVER_InferenceRequestNew(Request **r, Server *s, const char *model, int64_t v) {
  *r = calloc(1, sizeof **r);
  snprintf((*r)->model, sizeof (*r)->model, "%s", model);
  requests++;
  return NULL;
}
Error *TRITONSERVER_InferenceRequestDelete(Request *r) {
  if (r->sent) abort();  // it is still ours
  requests--;
  free(r);
  return NULL;
}
Error *TRITONSERVER_InferenceRequestSetId(Request *r, const char *id) { snprintf(r->id, sizeof r->id, "%s", id); return NULL; }
Error *TRITONSERVER_InferenceRequestSetFlags(Request *r, uint32_t f) { r->flags = f; return NULL; }
Error *TRITONSERVER_InferenceRequestSetCorrelationId(Request *r, uint64_t s) { r->sequence = s; return NULL; }
Error *TRITONSERVER_InferenceRequestAddInput(Request *r, const char *name, int32_t type, const int64_t *shape, uint64_t dims) {
  Tensor *t = &r->in[r->n++];
  snprintf(t->name, sizeof t->name, "%s", name);
  t->type = type, t->dims = dims;
  memcpy(t->shape, shape, dims * sizeof *shape);
  return NULL;
}
Error *TRITONSERVER_InferenceRequestAppendInputData(Request *r, const char *name, const void *data, size_t size, int32_t memory, int64_t id) {
  for (uint32_t i = 0; i < r->n; i++)
    if (!strcmp(r->in[i].name, name)) r->in[i].data = data, r->in[i].size = size, r->in[i].memory = memory;
  return NULL;
}
Error *TRITONSERVER_InferenceRequestAddRequestedOutput(Request *r, const char *name) { return NULL; }
Error *TRITONSERVER_InferenceRequestSetReleaseCallback(Request *r, void *fn, void *user) { r->release = fn, r->release_user = user; return NULL; }
Error *TRITONSERVER_InferenceRequestSetResponseCallback(Request *r, Allocator *a, void *au, void *fn, void *user) {
  r->allocator = a, r->alloc_user = au, r->respond = fn, r->respond_user = user;
  return NULL;
}
Error *TRITONSERVER_InferenceRequestCancel(Request *r) {
  if (!r->sent) abort();
  r->canceled = 1;
  return NULL;
}

Error *TRITONSERVER_InferenceResponseError(Response *r) { return r->error; }
Error *TRITONSERVER_InferenceResponseOutputCount(Response *r, uint32_t *n) { *n = r->n; return NULL; }
Error *TRITONSERVER_InferenceResponseOutput(Response *r, uint32_t i, const char **name, int32_t *type, const int64_t **shape, uint64_t *dims,
                                            const void **base, size_t *size, int32_t *memory, int64_t *device, void **user) {
  Tensor *t = &r->out[i];
  *name = t->name, *type = t->type, *shape = t->shape, *dims = t->dims, *base = t->data, *size = t->size;
  *memory = t->memory, *device = 0, *user = t->owned;
  return NULL;
}
Error *TRITONSERVER_InferenceResponseDelete(Response *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    r->allocator->free(r->allocator, (void *)r->out[i].data, r->out[i].owned, r->out[i].size, 0, 0);
    buffers--;
  }
  if (r->error) free(r->error);
  responses--;
  free(r);
  return NULL;
}

static Response *response(Request *r) {
  Response *a = calloc(1, sizeof *a);
  a->allocator = r->allocator;
  responses++;
  return a;
}
static void output(Request *r, Response *a, int32_t type, const int64_t *shape, uint64_t dims, const void *data, size_t size) {
  Tensor *t = &a->out[a->n];
  snprintf(t->name, sizeof t->name, "OUT%u", a->n);
  t->type = type, t->dims = dims, t->size = size;
  memcpy(t->shape, shape, dims * sizeof *shape);
  void *buffer = NULL;
  int32_t memory = 2;
  int64_t device = 9;
  Error *e = r->allocator->alloc(r->allocator, t->name, size, 2, 0, r->alloc_user, &buffer, &t->owned, &memory, &device);
  if (e || memory != r->in[0].memory || device != 0) abort();  // all tensors are in one place
  if (size) memcpy(buffer, data, size);
  t->data = buffer, t->memory = memory;
  buffers++;
  a->n++;
}
static Response *echo(Request *r) {
  Response *a = response(r);
  for (uint32_t i = 0; i < r->n; i++) output(r, a, r->in[i].type, r->in[i].shape, r->in[i].dims, r->in[i].data, r->in[i].size);
  return a;
}
static void release(Request *r) { r->sent = 0; r->release(r, 1, r->release_user); }

static void *answer(void *arg) {
  Request *r = arg;
  void (*respond)(void *, uint32_t, void *) = r->respond;
  void *user = r->respond_user;
  const char *m = r->model;
  successes++;
  if (!strcmp(m, "hang")) return NULL;
  if (!strcmp(m, "crash")) { volatile int *p = NULL; *p = 1; }
  if (!strcmp(m, "abort")) abort();
  if (!strcmp(m, "slow")) {
    int never = *(const uint8_t *)r->in[0].data == 255;
    for (int i = 0; (never || i < 50) && !r->canceled; i++) usleep(1000);
  }
  if (!strcmp(m, "early")) {
    Response *a = echo(r);
    release(r);
    usleep(2000);
    respond(a, 1, user);
    return NULL;
  }
  if (!strcmp(m, "stream")) {
    for (int i = *(const uint8_t *)r->in[0].data; i > 0; i--) respond(echo(r), 0, user);
    respond(NULL, 1, user);
  } else if (!strcmp(m, "fail") || !strcmp(m, "broken")) {
    if (!strcmp(m, "broken")) respond(echo(r), 0, user);
    Response *a = response(r);
    a->error = fail("failed on purpose");
    respond(a, 1, user);
  } else if (!strcmp(m, "vars")) {
    char text[100];
    int n = snprintf(text, sizeof text, "id=%s flags=%u sequence=%llu", r->id, r->flags, (unsigned long long)r->sequence);
    int64_t shape[] = {n};
    Response *a = response(r);
    output(r, a, 2, shape, 1, text, (size_t)n);
    respond(a, 1, user);
  } else {
    respond(echo(r), 1, user);
  }
  if (!strcmp(m, "late")) usleep(20000);
  release(r);
  return NULL;
}

Error *TRITONSERVER_ServerInferAsync(Server *s, Request *r, void *trace) {
  if (!strcmp(r->model, "refuse")) return fail("the request is refused");
  r->sent = 1;
  if (!strcmp(r->model, "inline")) {
    answer(r);
    return NULL;
  }
  pthread_t t;
  if (pthread_create(&t, NULL, answer, r)) abort();
  pthread_detach(t);
  return NULL;
}
