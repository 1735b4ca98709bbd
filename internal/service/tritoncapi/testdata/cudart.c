// A stand-in for libcudart.so. Its GPU is the main memory with all bits of a byte turned over, so that nobody can
// take what lies there for data by mistake.
#include <stdlib.h>
#include <string.h>

int cudaGetDevice(int *device) { *device = 0; return 0; }
int cudaSetDevice(int device) { return device != 0; }
int cudaMalloc(void **base, size_t size) {
  if (size > 1 << 20) return 2;
  *base = malloc(size);
  return 0;
}
int cudaMemcpy(void *to, const void *from, size_t size, int kind) {
  for (size_t i = 0; i < size; i++) ((unsigned char *)to)[i] = ~((const unsigned char *)from)[i];
  return kind != 1 && kind != 2;
}
const char *cudaGetErrorString(int code) { return code == 2 ? "out of memory" : "unknown error"; }
