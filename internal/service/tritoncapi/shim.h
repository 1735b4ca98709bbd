// The few parts of Triton's in-process C API that a load needs, behind functions that Go can call cheaply.
//
// Nothing here is linked against Triton: rl_open loads libtritonserver.so and looks its functions up. Answers
// come on Triton's own threads. A call from such a thread into Go costs microseconds, so none is made: the
// callbacks take the time and put the answer on the queue of a lane, and one Go goroutine per lane takes what
// has gathered with rl_take. Texts of errors are malloc'ed and belong to the caller unless said otherwise.
#ifndef REDLINE_TRITONCAPI_SHIM_H
#define REDLINE_TRITONCAPI_SHIM_H

#include <stddef.h>
#include <stdint.h>

typedef struct rl_api rl_api;
typedef struct rl_server rl_server;
typedef struct rl_lane rl_lane;
typedef struct rl_slot rl_slot;
typedef struct rl_cuda rl_cuda;

// What a function made, or why it could not.
typedef struct {
  char *error;
  const char *code;  // Triton's name of the error's code, where it is Triton's; it stays
  void *value;
  size_t size;
} rl_result;

// rl_open loads the library and gives an rl_api.
rl_result rl_open(const char *path);
// rl_preload loads a library that others will look for by its name, and tells whether it could.
int rl_preload(const char *path);
// rl_search_path lets child processes (the Python backend's stubs) find libraries in dir too.
void rl_search_path(const char *dir);
// rl_catch_crashes makes a crash inside of the library end the process with the given line on standard error
// and by the signal itself. Crashes of Go code stay with Go.
void rl_catch_crashes(const char *line);

// The server.
typedef struct {
  const char *repository, *backends, *agents, *caches;
  const char *shm_prefix;  // of the Python backend's regions
  unsigned exit_timeout;   // seconds
  int strict;              // a model that does not load is a failure of all
} rl_options;

enum { RL_SERVER_METADATA, RL_METADATA, RL_CONFIG, RL_STATISTICS, RL_INDEX };

// rl_server_new starts an rl_server.
rl_result rl_server_new(rl_api *api, rl_options options);
char *rl_server_ready(rl_server *s, int *ready);
char *rl_model_ready(rl_server *s, const char *model, int64_t version, int *ready);
// rl_ask gets one of the RL_* documents as malloc'ed JSON.
rl_result rl_ask(rl_server *s, int what, const char *model, int64_t version);
void rl_exit_timeout(rl_server *s, unsigned seconds);
char *rl_server_stop(rl_server *s);
char *rl_server_delete(rl_server *s);

// A prepared request: one malloc'ed block, not changed until the server is gone.
typedef struct {
  const char *name;
  const int64_t *shape;
  uint64_t dims;
  const void *data;
  uint64_t size;
  int32_t type;
  int32_t memory;  // RL_MAIN or RL_GPU
} rl_tensor;

enum { RL_MAIN = 0, RL_GPU = 2 };  // Triton's own numbers

typedef struct {
  const rl_tensor *inputs;
  const char *const *outputs;  // names of those asked for
  uint32_t n_inputs, n_outputs;
} rl_request;

// Marks of an event.
enum { RL_FINAL = 1, RL_EMPTY = 2, RL_UNSENT = 4, RL_CUT = 8 };

// What happened to a call. Pointers are valid until the next rl_take of the lane.
typedef struct {
  uint64_t seq;
  int64_t at;       // CLOCK_MONOTONIC nanoseconds
  int64_t written;  // when the send returned; with RL_FINAL only
  uint64_t bytes;   // of all outputs
  const char *error;
  const char *code;  // Triton's name of the error's code; NULL where the error is not Triton's
  uint32_t slot;
  uint32_t first, outputs;  // in the lane's list of outputs
  uint16_t marks;
  uint16_t class;  // of a cut
} rl_event;

// rl_lane_new makes an rl_lane. With cuda, outputs are received on the GPU, and with copy they are copied from there.
rl_result rl_lane_new(rl_server *s, const char *model, int64_t version, rl_cuda *cuda, int copy);
typedef struct {
  const rl_event *events;
  const rl_tensor *outputs;
  int n;
} rl_batch;
// rl_take waits for events; it may return without any. One goroutine at a time calls it.
rl_batch rl_take(rl_lane *lane);
// rl_nudge makes rl_take return, with a cut of no call.
void rl_nudge(rl_lane *lane);
// rl_owed counts what Triton still has to do: final answers to give, requests to give back.
int64_t rl_owed(rl_lane *lane);
// rl_lane_close frees the lane and its slots once Triton owes it nothing; before that it only sees to it that
// what still comes is dropped. rl_take must not be called any more.
void rl_lane_close(rl_lane *lane);

// rl_slot_new makes a place for one call in flight. It is called by one thread at a time.
rl_slot *rl_slot_new(rl_lane *lane, uint32_t index);
typedef struct {
  uint64_t seq;  // comes back with the events
  uint64_t id, sequence;
  uint32_t flags;  // 1 starts a sequence, 2 ends it
  uint32_t has_id;
} rl_send_vars;
// rl_send starts a call. Whatever comes of it, failures included, is an event.
void rl_send(rl_slot *slot, const rl_request *request, const rl_send_vars *vars);
// rl_cut puts an event with RL_CUT on the slot's lane.
void rl_cut(rl_slot *slot, uint64_t seq, uint16_t class);
// rl_cancel tells Triton that nobody waits for the call any more.
void rl_cancel(rl_slot *slot, uint64_t seq);

int64_t rl_now(void);

// rl_cuda_open loads the CUDA runtime, the bundled one first, and gives an rl_cuda. What it reserves stays until
// the process ends.
rl_result rl_cuda_open(const char *bundled);
// rl_cuda_put copies data to the GPU and gives its address there.
rl_result rl_cuda_put(rl_cuda *cuda, const void *data, size_t size);

#endif
