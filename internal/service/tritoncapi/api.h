// Own declarations of the functions of Triton's C API that the shim uses, and the table of their addresses.
#ifndef REDLINE_TRITONCAPI_API_H
#define REDLINE_TRITONCAPI_API_H

#include <stdbool.h>

#include "shim.h"

typedef struct TRITONSERVER_Error terror;
typedef struct TRITONSERVER_Server tserver;
typedef struct TRITONSERVER_ServerOptions toptions;
typedef struct TRITONSERVER_Message tmessage;
typedef struct TRITONSERVER_InferenceRequest trequest;
typedef struct TRITONSERVER_InferenceResponse tresponse;
typedef struct TRITONSERVER_InferenceTrace ttrace;
typedef struct TRITONSERVER_ResponseAllocator tallocator;

typedef terror *(*talloc_fn)(tallocator *, const char *name, size_t size, int32_t memory, int64_t device, void *user,
                             void **buffer, void **buffer_user, int32_t *actual_memory, int64_t *actual_device);
typedef terror *(*tfree_fn)(tallocator *, void *buffer, void *buffer_user, size_t size, int32_t memory, int64_t device);
typedef terror *(*tstart_fn)(tallocator *, void *user);
typedef void (*trelease_fn)(trequest *, uint32_t flags, void *user);
typedef void (*tresponse_fn)(tresponse *, uint32_t flags, void *user);

// NEEDED(return type, name without its prefix, arguments) lists what every library since API 1.0 has.
#define RL_NEEDED(X)                                                                                                  \
  X(terror *, ApiVersion, (uint32_t * major, uint32_t *minor))                                                        \
  X(const char *, ErrorMessage, (terror *))                                                                           \
  X(const char *, ErrorCodeString, (terror *))                                                                        \
  X(void, ErrorDelete, (terror *))                                                                                    \
  X(terror *, ErrorNew, (int code, const char *))                                                                     \
  X(terror *, ServerOptionsNew, (toptions **))                                                                        \
  X(terror *, ServerOptionsDelete, (toptions *))                                                                      \
  X(terror *, ServerOptionsSetModelRepositoryPath, (toptions *, const char *))                                        \
  X(terror *, ServerOptionsSetStrictModelConfig, (toptions *, bool))                                                  \
  X(terror *, ServerOptionsSetStrictReadiness, (toptions *, bool))                                                    \
  X(terror *, ServerOptionsSetExitOnError, (toptions *, bool))                                                        \
  X(terror *, ServerOptionsSetExitTimeout, (toptions *, unsigned))                                                    \
  X(terror *, ServerOptionsSetLogInfo, (toptions *, bool))                                                            \
  X(terror *, ServerOptionsSetCudaMemoryPoolByteSize, (toptions *, int device, uint64_t size))                        \
  X(terror *, ServerOptionsSetBackendDirectory, (toptions *, const char *))                                           \
  X(terror *, ServerOptionsSetRepoAgentDirectory, (toptions *, const char *))                                         \
  X(terror *, ServerOptionsSetBackendConfig, (toptions *, const char *, const char *, const char *))                  \
  X(terror *, ServerNew, (tserver **, toptions *))                                                                    \
  X(terror *, ServerStop, (tserver *))                                                                                \
  X(terror *, ServerDelete, (tserver *))                                                                              \
  X(terror *, ServerIsReady, (tserver *, bool *))                                                                     \
  X(terror *, ServerModelIsReady, (tserver *, const char *, int64_t, bool *))                                         \
  X(terror *, ServerMetadata, (tserver *, tmessage **))                                                               \
  X(terror *, ServerModelMetadata, (tserver *, const char *, int64_t, tmessage **))                                   \
  X(terror *, ServerModelStatistics, (tserver *, const char *, int64_t, tmessage **))                                 \
  X(terror *, ServerModelConfig, (tserver *, const char *, int64_t, uint32_t version, tmessage **))                   \
  X(terror *, ServerModelIndex, (tserver *, uint32_t flags, tmessage **))                                             \
  X(terror *, MessageSerializeToJson, (tmessage *, const char **, size_t *))                                          \
  X(terror *, MessageDelete, (tmessage *))                                                                            \
  X(terror *, ServerInferAsync, (tserver *, trequest *, ttrace *))                                                    \
  X(terror *, InferenceRequestNew, (trequest **, tserver *, const char *, int64_t))                                   \
  X(terror *, InferenceRequestDelete, (trequest *))                                                                   \
  X(terror *, InferenceRequestSetId, (trequest *, const char *))                                                      \
  X(terror *, InferenceRequestSetFlags, (trequest *, uint32_t))                                                       \
  X(terror *, InferenceRequestSetCorrelationId, (trequest *, uint64_t))                                               \
  X(terror *, InferenceRequestAddInput, (trequest *, const char *, int32_t, const int64_t *, uint64_t))               \
  X(terror *, InferenceRequestAppendInputData, (trequest *, const char *, const void *, size_t, int32_t, int64_t))    \
  X(terror *, InferenceRequestAddRequestedOutput, (trequest *, const char *))                                         \
  X(terror *, InferenceRequestSetReleaseCallback, (trequest *, trelease_fn, void *))                                  \
  X(terror *, InferenceRequestSetResponseCallback, (trequest *, tallocator *, void *, tresponse_fn, void *))          \
  X(terror *, InferenceResponseDelete, (tresponse *))                                                                 \
  X(terror *, InferenceResponseError, (tresponse *))                                                                  \
  X(terror *, InferenceResponseOutputCount, (tresponse *, uint32_t *))                                                \
  X(terror *, InferenceResponseOutput,                                                                                \
    (tresponse *, uint32_t, const char **name, int32_t *type, const int64_t **shape, uint64_t *dims,                  \
     const void **base, size_t *size, int32_t *memory, int64_t *device, void **user))                                 \
  X(terror *, ResponseAllocatorNew, (tallocator **, talloc_fn, tfree_fn, tstart_fn))                                  \
  X(terror *, ResponseAllocatorDelete, (tallocator *))

// What came with later versions; used where it is there.
#define RL_OPTIONAL(X)                                                       \
  X(terror *, ServerOptionsSetCacheDirectory, (toptions *, const char *))    \
  X(terror *, ServerOptionsSetModelLoadRetryCount, (toptions *, unsigned))   \
  X(terror *, ServerSetExitTimeout, (tserver *, unsigned))                   \
  X(terror *, InferenceRequestCancel, (trequest *))

struct rl_api {
#define RL_FIELD(ret, name, args) ret(*name) args;
  RL_NEEDED(RL_FIELD)
  RL_OPTIONAL(RL_FIELD)
#undef RL_FIELD
};

struct rl_server {
  rl_api *api;
  tserver *server;
};

// rl_text turns an error into its malloc'ed text and deletes it; NULL stays NULL.
char *rl_text(const rl_api *api, terror *err);
// rl_code is the name of an error's code, a text that stays; NULL without an error.
const char *rl_code(const rl_api *api, terror *err);
// rl_drop deletes an error of no interest; NULL is none.
void rl_drop(const rl_api *api, terror *err);
// rl_format is a malloc'ed text.
char *rl_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

// rl_cuda_take lends a buffer on the GPU until rl_cuda_give; NULL where there is no more memory.
void *rl_cuda_take(rl_cuda *cuda, size_t size, void **base);
void rl_cuda_give(void *taken);
// rl_cuda_copy is a malloc'ed copy of what lies on the GPU.
rl_result rl_cuda_copy(rl_cuda *cuda, const void *base, size_t size);

#endif
