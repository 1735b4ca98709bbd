//go:build native && cgo && linux

// The hot path: sending, the callbacks on Triton's threads, and the queue between them and Go.
#include "api.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FINAL_RESPONSE = 1 };  // TRITONSERVER_RESPONSE_COMPLETE_FINAL
enum { MAX_BATCH = 64 };      // events of one rl_take

// A node carries one event from any thread to the lane.
typedef struct node {
  struct node *next;
  struct call *call;  // NULL: a cut
  tresponse *response;
  char *error;  // of a send that failed
  rl_event event;
} node;

// A call is one request on its way. A slot has one, and one more for each request that Triton still holds
// after its answer came. The request object is made anew for each send: Triton allows to send one again, but
// schedulers leave things in it (ensembles a callback a send, with which they count).
typedef struct call {
  struct call *next;
  rl_lane *lane;
  trequest *request;  // deleted when the call is used again, so that it can be canceled safely until then
  uint64_t seq;
  uint32_t slot;
  int64_t written;
  node *last;         // the final answer
  atomic_int open;    // final answer and return of the send: the second of them ends the call
  atomic_int free;    // Triton gave the request back
  atomic_int ended;   // the lane has seen the end
} call;

struct rl_slot {
  rl_slot *next;  // of the lane's
  rl_lane *lane;
  call *calls;
  uint32_t index;
  atomic_int busy;  // a send is under way: nobody else may touch the calls
};

struct rl_lane {
  const rl_api *api;
  tserver *server;
  tallocator *allocator;
  rl_cuda *cuda;  // NULL: outputs are in the main memory
  int copy;
  char *model;
  int64_t version;
  rl_slot *slots;
  atomic_int_fast64_t owed;  // what Triton still has to do: final answers and requests to give back
  atomic_int closed;
  _Atomic(node *) head;  // newest first
  atomic_uint asleep;    // a futex
  // The rest is the taker's.
  node *ready;  // oldest first
  node *taken[MAX_BATCH];
  rl_event events[MAX_BATCH];
  int n_taken;
  rl_tensor *outputs;
  uint32_t n_outputs, cap_outputs;
};

int64_t rl_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void node_free(const rl_api *api, node *n) {
  if (n->response) rl_drop(api, api->InferenceResponseDelete(n->response));
  free(n->error);
  free(n);
}

// forget frees what the last rl_take gave out.
static void forget(rl_lane *l) {
  for (int i = 0; i < l->n_taken; i++) node_free(l->api, l->taken[i]);
  for (uint32_t i = 0; i < l->n_outputs; i++)
    if (l->outputs[i].memory == RL_GPU) free((void *)l->outputs[i].data);  // the copy
  l->n_taken = 0;
  l->n_outputs = 0;
}

static void free_all(rl_lane *l, node *n) {
  while (n) {
    node *next = n->next;
    node_free(l->api, n);
    n = next;
  }
}

static void wake(rl_lane *l) {
  if (atomic_exchange(&l->asleep, 0)) syscall(SYS_futex, &l->asleep, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void push(rl_lane *l, node *n) {
  node *head = atomic_load_explicit(&l->head, memory_order_relaxed);
  do n->next = head;
  while (!atomic_compare_exchange_weak(&l->head, &head, n));
  wake(l);
  // After the lane was closed nobody takes: what comes late is dropped where it comes.
  if (atomic_load_explicit(&l->closed, memory_order_acquire)) free_all(l, atomic_exchange(&l->head, NULL));
}

// finish hands over the end of a call, once both its final answer and the return of the send are there.
static void finish(call *c) {
  if (atomic_fetch_sub(&c->open, 1) != 1) return;
  c->last->event.written = c->written;
  push(c->lane, c->last);
}

// Callbacks, on Triton's threads.

static terror *on_alloc(tallocator *a, const char *name, size_t size, int32_t memory, int64_t device, void *user,
                        void **buffer, void **buffer_user, int32_t *actual_memory, int64_t *actual_device) {
  (void)a, (void)memory, (void)device;
  rl_lane *l = user;
  *buffer = *buffer_user = NULL;
  *actual_memory = l->cuda ? RL_GPU : RL_MAIN;  // whatever was preferred
  *actual_device = 0;
  if (!size) return NULL;
  if (l->cuda)
    *buffer_user = rl_cuda_take(l->cuda, size, buffer);
  else
    *buffer = malloc(size);
  if (*buffer) return NULL;
  char text[200];
  snprintf(text, sizeof text, "no memory for %zu bytes of output %s", size, name);
  return l->api->ErrorNew(1, text);  // TRITONSERVER_ERROR_INTERNAL
}

// on_free has no way to know the lane, so what was taken on the GPU names its owner.
static terror *on_free(tallocator *a, void *buffer, void *buffer_user, size_t size, int32_t memory, int64_t device) {
  (void)a, (void)size, (void)memory, (void)device;
  if (buffer_user)
    rl_cuda_give(buffer_user);
  else
    free(buffer);
  return NULL;
}

static void on_release(trequest *r, uint32_t flags, void *user) {
  (void)r, (void)flags;
  call *c = user;
  rl_lane *l = c->lane;
  atomic_store_explicit(&c->free, 1, memory_order_release);  // from here on the call may be used again
  atomic_fetch_sub(&l->owed, 1);
}

static void on_response(tresponse *response, uint32_t flags, void *user) {
  int64_t at = rl_now();
  call *c = user;
  node *n = malloc(sizeof *n);
  *n = (node){.call = c, .response = response, .event = {.seq = c->seq, .slot = c->slot, .at = at}};
  if (!response) n->event.marks |= RL_EMPTY;
  if (!(flags & FINAL_RESPONSE)) {
    push(c->lane, n);
    return;
  }
  n->event.marks |= RL_FINAL;
  c->last = n;
  rl_lane *l = c->lane;
  finish(c);
  atomic_fetch_sub(&l->owed, 1);
}

// Lanes.

rl_result rl_lane_new(rl_server *s, const char *model, int64_t version, rl_cuda *cuda, int copy) {
  rl_lane *l = calloc(1, sizeof *l);
  l->api = s->api;
  l->server = s->server;
  l->model = strdup(model);
  l->version = version;
  l->cuda = cuda;
  l->copy = copy;
  return (rl_result){.value = l, .error = rl_text(l->api, l->api->ResponseAllocatorNew(&l->allocator, on_alloc, on_free, NULL))};
}

int64_t rl_owed(rl_lane *l) { return atomic_load(&l->owed); }

void rl_lane_close(rl_lane *l) {
  forget(l);
  free_all(l, l->ready);
  l->ready = NULL;
  atomic_store(&l->closed, 1);
  free_all(l, atomic_exchange(&l->head, NULL));
  if (rl_owed(l) > 0) return;  // Triton may still call back: all must stay
  while (l->slots) {
    rl_slot *s = l->slots;
    l->slots = s->next;
    while (s->calls) {
      call *c = s->calls;
      s->calls = c->next;
      if (c->request) rl_drop(l->api, l->api->InferenceRequestDelete(c->request));
      free(c);
    }
    free(s);
  }
  rl_drop(l->api, l->api->ResponseAllocatorDelete(l->allocator));
  free(l->outputs);
  free(l->model);
  free(l);
}

// list appends the outputs of a response to the lane's list. It returns a text where one cannot be read.
static char *list(rl_lane *l, tresponse *response, rl_event *e) {
  uint32_t n = 0;
  char *error = rl_text(l->api, l->api->InferenceResponseOutputCount(response, &n));
  if (l->n_outputs + n > l->cap_outputs) {
    l->cap_outputs = 2 * (l->n_outputs + n);
    l->outputs = realloc(l->outputs, l->cap_outputs * sizeof *l->outputs);
  }
  e->first = l->n_outputs;
  for (uint32_t i = 0; i < n; i++) {
    rl_tensor *t = &l->outputs[l->n_outputs];
    size_t size = 0;
    int64_t device;
    void *user;
    *t = (rl_tensor){0};
    terror *err = l->api->InferenceResponseOutput(response, i, &t->name, &t->type, &t->shape, &t->dims, &t->data,
                                                  &size, &t->memory, &device, &user);
    if (err) {
      free(error);
      error = rl_text(l->api, err);
      continue;
    }
    t->size = size;
    e->bytes += size;
    if (t->memory == RL_GPU) {
      rl_result r = {0};
      if (l->copy && size) r = rl_cuda_copy(l->cuda, t->data, size);
      t->data = r.value;
      if (!t->data) t->size = 0;  // not to be looked at
      if (r.error) free(error), error = r.error;
    }
    l->n_outputs++;
  }
  e->outputs = l->n_outputs - e->first;
  return error;
}

// receive turns a node into the event that Go sees.
static void receive(rl_lane *l, node *n, rl_event *e) {
  *e = n->event;
  if (n->response) {
    terror *err = l->api->InferenceResponseError(n->response);  // it stays the response's own
    if (err)
      e->error = l->api->ErrorMessage(err), e->code = rl_code(l->api, err);
    else
      n->error = list(l, n->response, e);
  }
  if (n->error) e->error = n->error;
  if (n->call && (e->marks & RL_FINAL)) atomic_store_explicit(&n->call->ended, 1, memory_order_release);
}

// gather moves what was pushed to the list in the order of arrival. It is called when that list is empty.
static void gather(rl_lane *l) {
  node *n = atomic_exchange(&l->head, NULL);
  while (n) {
    node *next = n->next;
    n->next = l->ready;
    l->ready = n;
    n = next;
  }
}

rl_batch rl_take(rl_lane *l) {
  forget(l);
  if (!l->ready) gather(l);
  if (!l->ready) {
    atomic_store(&l->asleep, 1);
    if (atomic_load(&l->head) == NULL) syscall(SYS_futex, &l->asleep, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    atomic_store(&l->asleep, 0);
    gather(l);
  }
  while (l->ready && l->n_taken < MAX_BATCH) {
    node *n = l->ready;
    l->ready = n->next;
    receive(l, n, &l->events[l->n_taken]);
    l->taken[l->n_taken++] = n;
  }
  return (rl_batch){.events = l->events, .outputs = l->outputs, .n = l->n_taken};
}

// Sending.

rl_slot *rl_slot_new(rl_lane *l, uint32_t index) {
  rl_slot *s = malloc(sizeof *s);
  *s = (rl_slot){.next = l->slots, .lane = l, .index = index};
  l->slots = s;
  return s;
}

// pick finds a call that Triton does not hold, or makes one.
static call *pick(rl_slot *s) {
  for (call *c = s->calls; c; c = c->next)
    if (atomic_load_explicit(&c->free, memory_order_acquire) && atomic_load_explicit(&c->ended, memory_order_acquire))
      return c;
  call *c = malloc(sizeof *c);
  *c = (call){.next = s->calls, .lane = s->lane, .slot = s->index, .free = 1, .ended = 1};
  s->calls = c;
  return c;
}

// fill makes the request object.
static terror *fill(call *c, const rl_request *p, const rl_send_vars *v) {
  rl_lane *l = c->lane;
  const rl_api *api = l->api;
  if (c->request) rl_drop(api, api->InferenceRequestDelete(c->request));
  c->request = NULL;
  terror *err = api->InferenceRequestNew(&c->request, l->server, l->model, l->version);
  if (err) return err;
  trequest *r = c->request;
  err = api->InferenceRequestSetReleaseCallback(r, on_release, c);
  if (!err) err = api->InferenceRequestSetResponseCallback(r, l->allocator, l, on_response, c);
  for (uint32_t i = 0; !err && i < p->n_inputs; i++) {
    const rl_tensor *t = &p->inputs[i];
    err = api->InferenceRequestAddInput(r, t->name, t->type, t->shape, t->dims);
    if (!err) err = api->InferenceRequestAppendInputData(r, t->name, t->data, t->size, t->memory, 0);
  }
  for (uint32_t i = 0; !err && i < p->n_outputs; i++) err = api->InferenceRequestAddRequestedOutput(r, p->outputs[i]);
  if (!err && v->flags) err = api->InferenceRequestSetFlags(r, v->flags);
  if (!err && v->sequence) err = api->InferenceRequestSetCorrelationId(r, v->sequence);
  if (!err && v->has_id) {
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)v->id);
    err = api->InferenceRequestSetId(r, id);
  }
  return err;
}

// unsent makes an end of a call that Triton never had.
static void unsent(rl_slot *s, uint64_t seq, const char *code, char *text) {
  node *n = malloc(sizeof *n);
  int64_t now = rl_now();
  *n = (node){.error = text,
              .event = {.seq = seq, .slot = s->index, .at = now, .written = now, .code = code,
                        .marks = RL_FINAL | RL_UNSENT}};
  push(s->lane, n);
}

void rl_send(rl_slot *s, const rl_request *p, const rl_send_vars *v) {
  rl_lane *l = s->lane;
  if (atomic_exchange(&s->busy, 1)) {  // a call was cut, but its send still hangs
    unsent(s, v->seq, NULL, strdup("Triton has not returned from the last request that was sent here"));
    return;
  }
  call *c = pick(s);
  terror *err = fill(c, p, v);
  if (!err) {
    c->seq = v->seq;
    c->last = NULL;
    atomic_store(&c->open, 2);
    atomic_store(&c->free, 0);
    atomic_store(&c->ended, 0);
    atomic_fetch_add(&l->owed, 2);
    err = l->api->ServerInferAsync(l->server, c->request, NULL);
    if (!err) {
      c->written = rl_now();
      atomic_store(&s->busy, 0);
      finish(c);
      return;
    }
    atomic_fetch_sub(&l->owed, 2);
    atomic_store(&c->free, 1);
    atomic_store(&c->ended, 1);
  }
  atomic_store(&s->busy, 0);
  const char *code = rl_code(l->api, err);
  unsent(s, v->seq, code, rl_text(l->api, err));
}

void rl_nudge(rl_lane *l) {
  node *n = malloc(sizeof *n);
  *n = (node){.event = {.marks = RL_CUT}};
  push(l, n);
}

void rl_cut(rl_slot *s, uint64_t seq, uint16_t class) {
  node *n = malloc(sizeof *n);
  *n = (node){.event = {.seq = seq, .slot = s->index, .at = rl_now(), .marks = RL_CUT, .class = class}};
  push(s->lane, n);
}

void rl_cancel(rl_slot *s, uint64_t seq) {
  const rl_api *api = s->lane->api;
  if (!api->InferenceRequestCancel || atomic_load(&s->busy)) return;
  for (call *c = s->calls; c; c = c->next)
    if (c->seq == seq && !atomic_load_explicit(&c->free, memory_order_acquire))
      rl_drop(api, api->InferenceRequestCancel(c->request));
}
