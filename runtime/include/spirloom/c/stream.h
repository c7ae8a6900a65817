// Streams in the C API: device memory and operations on it, in order and without models. Part of
// spirloom.h, which documents the conventions.
#ifndef SPIRLOOM_C_STREAM_H_
#define SPIRLOOM_C_STREAM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spirloom/c/base.h"
#include "spirloom/c/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Streams -----------------------------------------------------------------------------------

// Call sequence:
//
//   spirloom_stream* stream = NULL;
//   spirloom_stream_create(runtime, NULL, &stream, &error);
//   void* x = NULL;
//   spirloom_stream_allocate(stream, size, &x, &error);
//   spirloom_stream_write(stream, x, host, size, &error);  // returns when `host` has been read
//   spirloom_stream_copy(stream, y, x, size, &error);      // returns at once
//   spirloom_stream_read(stream, host, y, size, &error);   // waits
//   spirloom_stream_free(stream, x, &error);
//
// Terms:
//
// - device address: the value that spirloom_stream_allocate() returns. It is the address of a
//   reserved range that the host cannot read or write, so pointer arithmetic and comparisons are
//   valid, and an access by the host ends the process (SIGSEGV) instead of reading other data.
// - block: the memory of one allocation, a multiple of 512 bytes.
// - segment: a Vulkan buffer that contains blocks. Segments have 2 MiB for blocks up to 1 MiB,
//   20 MiB for blocks up to 10 MiB, or the size of a larger block.
// - command: a copy, a fill, or a dispatch of a kernel. Commands have increasing indices and take
// effect in their order.
//
// Commands are recorded, and submitted to the device when some have been recorded, or before the
// host waits.

// Options of spirloom_stream_create().
typedef struct spirloom_stream_options {
  size_t struct_size;
  // Maximum bytes of all segments. Allocations beyond it fail with SPIRLOOM_OUT_OF_MEMORY. 0: no
  // limit other than spirloom_runtime_options.memory_limit and the device's memory.
  uint64_t memory_limit;
} spirloom_stream_options;

// Device memory and a queue of commands. A stream may be used by several threads at once, whose
// calls take effect one by one. Every call fails with SPIRLOOM_DEVICE_LOST after the device is
// lost, and after another failed submission with the error of that submission.
typedef struct spirloom_stream spirloom_stream;

// Creates a stream on the device of `runtime`. `options` may be NULL.
SPIRLOOM_C_API spirloom_status spirloom_stream_create(const spirloom_runtime* runtime,
                                                      const spirloom_stream_options* options,
                                                      spirloom_stream** stream,
                                                      spirloom_error** error);
// Waits for the commands and frees all blocks.
SPIRLOOM_C_API void spirloom_stream_destroy(spirloom_stream* stream);

// ---- Device memory -----------------------------------------------------------------------------

// Allocates `size` bytes, at least one block, and returns their device address, a multiple of 512.
// Takes a freed block, or a part of one, if there is one of sufficient size. Otherwise creates a
// segment; if that fails, releases all segments without blocks and tries again. Fails with
// SPIRLOOM_OUT_OF_MEMORY. The contents are undefined.
SPIRLOOM_C_API spirloom_status spirloom_stream_allocate(spirloom_stream* stream, size_t size,
                                                        void** address, spirloom_error** error);
// Frees the block at `address`, a value of spirloom_stream_allocate(); NULL is ignored. The memory
// is available to later allocations at once, as their commands come after those of the block.
SPIRLOOM_C_API spirloom_status spirloom_stream_free(spirloom_stream* stream, void* address,
                                                    spirloom_error** error);
// The block that contains `address`: its first device address and its size. Fails with
// SPIRLOOM_NOT_FOUND.
SPIRLOOM_C_API spirloom_status spirloom_stream_find(spirloom_stream* stream, const void* address,
                                                    spirloom_bytes* block, spirloom_error** error);

// Waits for all commands and releases the segments without blocks.
SPIRLOOM_C_API spirloom_status spirloom_stream_empty_cache(spirloom_stream* stream,
                                                           spirloom_error** error);

// Indices into the arrays of spirloom_stream_stats.
typedef enum spirloom_stream_value {
  SPIRLOOM_STREAM_CURRENT = 0,
  SPIRLOOM_STREAM_PEAK = 1,       // maximum since the last spirloom_stream_reset_peaks()
  SPIRLOOM_STREAM_INCREASED = 2,  // sum of increases since the last spirloom_stream_reset_totals()
  SPIRLOOM_STREAM_DECREASED = 3,  // sum of decreases
  SPIRLOOM_STREAM_VALUE_FORCE_32_BITS = 0x7fffffff
} spirloom_stream_value;

// Statistics of a stream. Sizes in bytes.
typedef struct spirloom_stream_stats {
  size_t struct_size;
  uint64_t blocks[4];            // allocated blocks
  uint64_t block_bytes[4];       // their sizes
  uint64_t requested_bytes[4];   // the sizes given to spirloom_stream_allocate()
  uint64_t segments[4];          // existing segments
  uint64_t segment_bytes[4];     // their sizes
  uint64_t free_pieces[4];       // free ranges of segments that also contain blocks
  uint64_t free_piece_bytes[4];  // their sizes
  uint64_t retries;              // allocations that released cached segments first
  uint64_t out_of_memory;        // failed allocations
  uint64_t submissions;          // submissions to the device
} spirloom_stream_stats;

// Fills `stats` with the current values.
SPIRLOOM_C_API spirloom_status spirloom_stream_memory(spirloom_stream* stream,
                                                      spirloom_stream_stats* stats,
                                                      spirloom_error** error);
SPIRLOOM_C_API void spirloom_stream_reset_peaks(spirloom_stream* stream);
SPIRLOOM_C_API void spirloom_stream_reset_totals(spirloom_stream* stream);

// ---- Commands of a stream ----------------------------------------------------------------------

// A range of device memory that is not within one block is SPIRLOOM_INVALID_ARGUMENT.

// Copies `size` bytes of host memory to the device. `source` may be modified after the call.
SPIRLOOM_C_API spirloom_status spirloom_stream_write(spirloom_stream* stream, void* target,
                                                     const void* source, size_t size,
                                                     spirloom_error** error);
// Copies `size` bytes of device memory to the host, after all commands that modify their block.
SPIRLOOM_C_API spirloom_status spirloom_stream_read(spirloom_stream* stream, void* target,
                                                    const void* source, size_t size,
                                                    spirloom_error** error);
// Copies `size` bytes within device memory. The ranges may overlap.
SPIRLOOM_C_API spirloom_status spirloom_stream_copy(spirloom_stream* stream, void* target,
                                                    const void* source, size_t size,
                                                    spirloom_error** error);
// Sets `size` bytes to repetitions of the lowest `pattern_size` bytes of `pattern`, in the byte
// order of the host. `pattern_size` is 1, 2 or 4; `target` and `size` are multiples of it.
SPIRLOOM_C_API spirloom_status spirloom_stream_fill(spirloom_stream* stream, void* target,
                                                    size_t size, uint32_t pattern,
                                                    size_t pattern_size, spirloom_error** error);

// A dense, row-major tensor in device memory; without elements, `address` may be NULL. The struct
// has no size and will never change.
typedef struct spirloom_device_tensor {
  void* address;
  spirloom_dtype dtype;
  size_t rank;  // at most 8
  int64_t sizes[8];
} spirloom_device_tensor;

// The kind of an argument, with the members of spirloom_argument that it uses.
typedef enum spirloom_argument_kind {
  SPIRLOOM_ARGUMENT_NONE = 0,         // an absent tensor
  SPIRLOOM_ARGUMENT_TENSOR = 1,       // tensors[0]; `count` is 1
  SPIRLOOM_ARGUMENT_TENSOR_LIST = 2,  // `count` tensors
  SPIRLOOM_ARGUMENT_INT = 3,          // i
  SPIRLOOM_ARGUMENT_FLOAT = 4,        // f
  SPIRLOOM_ARGUMENT_BOOL = 5,         // i: 0 or 1
  SPIRLOOM_ARGUMENT_INTS = 6,         // `count` ints
  SPIRLOOM_ARGUMENT_STRING = 7,       // s
  SPIRLOOM_ARGUMENT_FORCE_32_BITS = 0x7fffffff
} spirloom_argument_kind;

// An argument of a call. The struct has no size and will never change.
typedef struct spirloom_argument {
  spirloom_argument_kind kind;
  size_t count;
  const spirloom_device_tensor* tensors;
  const int64_t* ints;
  int64_t i;
  double f;
  const char* s;
} spirloom_argument;

// The signature of an operator, as its spec declares it. Texts are valid while the runtime exists.
typedef struct spirloom_signature {
  size_t struct_size;
  const char* name;        // "aten.add.Tensor"
  const char* short_name;  // "add"
  size_t argument_count;
  size_t result_count;
} spirloom_signature;

// An argument in a signature.
typedef struct spirloom_signature_argument {
  size_t struct_size;
  const char* name;
  spirloom_argument_kind kind;  // SPIRLOOM_ARGUMENT_TENSOR to SPIRLOOM_ARGUMENT_STRING
  bool is_optional;             // a tensor that may be absent (SPIRLOOM_ARGUMENT_NONE)
  // Index of the earlier argument whose value is the default; -1: none.
  int32_t default_of;
  // The value where a call of the operator omits the argument; SPIRLOOM_ARGUMENT_NONE: it is
  // required. spirloom_stream_call() takes all arguments: its callers insert the defaults. `ints`
  // and `s` are valid while the runtime exists.
  spirloom_argument default_value;
} spirloom_signature_argument;

// Fills `signature` with that of operator `op`, an index of spirloom_runtime_operator().
SPIRLOOM_C_API spirloom_status spirloom_runtime_signature(const spirloom_runtime* runtime,
                                                          size_t op, spirloom_signature* signature,
                                                          spirloom_error** error);
// Fills `argument` with argument `i` of that signature.
SPIRLOOM_C_API spirloom_status
spirloom_runtime_signature_argument(const spirloom_runtime* runtime, size_t op, size_t i,
                                    spirloom_signature_argument* argument, spirloom_error** error);

// Calls operator `op`, an index of spirloom_runtime_operator(), with all arguments of its spec in
// their order. Stores its `result_count` results in blocks of their own, which the caller frees;
// another number is SPIRLOOM_INVALID_ARGUMENT. Returns when the dispatches are recorded. The
// kernels are selected as in a graph with this node, and kept with all that depends on dtypes,
// shapes and values of the arguments: equal calls are fast. Fails with SPIRLOOM_NOT_FOUND or
// SPIRLOOM_UNSUPPORTED if no kernel supports the call, SPIRLOOM_INVALID_ARGUMENT if the arguments
// do not match the operator.
SPIRLOOM_C_API spirloom_status spirloom_stream_call(spirloom_stream* stream, size_t op,
                                                    const spirloom_argument* arguments,
                                                    size_t argument_count,
                                                    spirloom_device_tensor* results,
                                                    size_t result_count, spirloom_error** error);

// The index of the last command; 0 without commands and for a NULL stream. With
// spirloom_stream_is_done() and spirloom_stream_wait() it is an event.
SPIRLOOM_C_API uint64_t spirloom_stream_last_command(spirloom_stream* stream);
// Stores whether the commands up to `index` have completed. Submits them.
SPIRLOOM_C_API spirloom_status spirloom_stream_is_done(spirloom_stream* stream, uint64_t index,
                                                       bool* done, spirloom_error** error);
// Submits and waits for the commands up to `index`; UINT64_MAX: for all commands.
SPIRLOOM_C_API spirloom_status spirloom_stream_wait(spirloom_stream* stream, uint64_t index,
                                                    spirloom_error** error);
// Submits the recorded commands. Does not wait.
SPIRLOOM_C_API spirloom_status spirloom_stream_submit(spirloom_stream* stream,
                                                      spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_STREAM_H_
