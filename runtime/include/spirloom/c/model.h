// Models in the C API: loading, tuning, contexts, inputs and outputs. Part of spirloom.h, which
// documents the conventions.
#ifndef SPIRLOOM_C_MODEL_H_
#define SPIRLOOM_C_MODEL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spirloom/c/base.h"
#include "spirloom/c/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Tuning ------------------------------------------------------------------------------------

// The kernel autotuner (docs/how-to/tune.md).
typedef struct spirloom_tuner spirloom_tuner;

// For spirloom_model_options.tune. Valid as long as the program. Only programs that call this
// function link the autotuner.
SPIRLOOM_C_API const spirloom_tuner* spirloom_kernel_autotuner(void);

// The tuning result of one call. Times in nanoseconds, minimum of several runs. The struct and its
// strings are valid during on_tuned.
typedef struct spirloom_tuned_call {
  size_t struct_size;
  const char* call;            // e.g. "aten.convolution(f32[1,3,8,8], …) in buffer"
  const char* node;            // name of the first node with this call
  const char* default_kernel;  // used without tuning
  const char* kernel;          // the default kernel, unless another one is > 5 % faster
  uint64_t default_ns;         // time of the default kernel; 0: not measurable
  uint64_t ns;                 // time of `kernel`
} spirloom_tuned_call;

// ---- Models ------------------------------------------------------------------------------------

// A graph that is loaded on a device: device memory, pipelines and recorded commands.
typedef struct spirloom_model spirloom_model;

typedef struct spirloom_model_options {
  size_t struct_size;
  // Storage of tensors for which the graph file specifies none. SPIRLOOM_STORAGE_AUTO selects
  // buffers. `tune` selects kernels and does not change storages.
  spirloom_storage storage;
  // Records GPU timestamps around each dispatch, for spirloom_model_profile(). They cost about 1 us
  // per dispatch on GPUs, and the times do not show overlap.
  bool profile;
  // Names of kernels (`spirloom-ops` lists them) that replace the default kernel of every call they
  // support: for tests and measurements.
  const char* const* kernels;
  size_t kernel_count;
  // spirloom_kernel_autotuner(), or NULL. Loading, and resizing to new shapes, measures all kernels
  // of each call on synthetic data and uses the fastest. Later loads on the runtime's device use
  // the results too: in this process, and through cache_dir in other processes. Takes seconds;
  // other work on the device distorts the results. Loading fails with SPIRLOOM_UNSUPPORTED on a
  // device without timestamps.
  const spirloom_tuner* tune;
  // Called for each tuned call, `done` of `total`, on the thread that loads or resizes. Must not
  // throw or longjmp. The callback and its data must stay valid as long as the model.
  void (*on_tuned)(const spirloom_tuned_call* call, size_t done, size_t total, void* data);
  void* on_tuned_data;
  // Number of input shapes for which a model keeps commands and descriptors (LRU). 0: 8.
  size_t max_cached_shapes;
  // Limits on the dispatches (host memory) and the device memory in bytes of the graph. 0: a
  // default that grows with the size of the file (docs/reference/limits.md).
  uint64_t max_dispatches;
  uint64_t max_device_bytes;
  // The method of the file to load. NULL or "": the first one.
  const char* method;
  // If not 0, records two GPU timestamps per run, before the first and after the last dispatch, for
  // spirloom_model_gpu_time(). `profile` implies it.
  uint64_t time_runs;
  // If not 0, spirloom_model_resize() accepts sizes beyond a symbol's declared maximum, which then
  // only determines the initial allocation.
  uint64_t allow_exceeding_max;
  // If not 0, `tune` measures calls again that have been measured before.
  uint64_t retune;
} spirloom_model_options;

// Loads the graph file at `path`. `options` may be NULL. Fails with SPIRLOOM_INVALID_FILE for a
// malformed file, SPIRLOOM_NOT_FOUND if the file does not exist or the libraries lack operators
// (the message lists every missing operator, dtype and storage), SPIRLOOM_UNSUPPORTED if the device
// lacks a feature, SPIRLOOM_OUT_OF_MEMORY. A model with symbols or several methods reads the mapped
// file in later resizes and contexts: do not modify or truncate it while the model exists; replace
// it by rename().
SPIRLOOM_C_API spirloom_status spirloom_model_load(const spirloom_runtime* runtime,
                                                   const char* path,
                                                   const spirloom_model_options* options,
                                                   spirloom_model** model, spirloom_error** error);
// Loads a graph file from `size` bytes in memory, which may be freed afterwards: a model with
// symbols or several methods copies it, for later resizes and contexts. Fails for a graph with
// external constants.
SPIRLOOM_C_API spirloom_status spirloom_model_load_from_memory(
    const spirloom_runtime* runtime, const void* file, size_t size,
    const spirloom_model_options* options, spirloom_model** model, spirloom_error** error);
// Loads without a copy: `file` must stay valid and unchanged until the model and its contexts are
// destroyed, or, for a file with one method, until spirloom_model_fix_shapes().
SPIRLOOM_C_API spirloom_status spirloom_model_load_from_borrowed_memory(
    const spirloom_runtime* runtime, const void* file, size_t size,
    const spirloom_model_options* options, spirloom_model** model, spirloom_error** error);

// Loads `size` bytes from byte `offset` on of an open file, e.g. an uncompressed asset of an
// Android package (docs/how-to/android-and-java.md). Maps them; the descriptor may be closed
// afterwards. The file is shared like that of spirloom_model_load(). `offset` needs no alignment,
// but a file at a multiple of 64 bytes saves a copy of its description. Fails like
// spirloom_model_load_from_memory() and with SPIRLOOM_INVALID_ARGUMENT if the range is empty or
// exceeds the file, SPIRLOOM_INVALID_FILE if the descriptor is not that of a regular file,
// SPIRLOOM_UNSUPPORTED on Windows.
SPIRLOOM_C_API spirloom_status spirloom_model_load_from_descriptor(
    const spirloom_runtime* runtime, int32_t descriptor, uint64_t offset, uint64_t size,
    const spirloom_model_options* options, spirloom_model** model, spirloom_error** error);

typedef struct spirloom_context_options {
  size_t struct_size;
  // The method of the file. NULL or "": that of the model.
  const char* method;
  // If not 0, shares the states of the same name and type, and the activation memory, with the
  // model: their runs are executed in order, and both count as one model for thread safety.
  // Otherwise the context has its own states, with their initial values.
  uint64_t share_states;
} spirloom_context_options;

// Creates another execution context of a model: a spirloom_model over the same weights, pipelines
// and plans, which runs independently. N contexts are N runs in flight. It starts with the maximum
// shapes and has the options of `model`, which may be destroyed first. `options` may be NULL. Fails
// with SPIRLOOM_NOT_FOUND if the method does not exist, and like spirloom_model_load(). May be
// called on any thread, also during runs, unless it shares states.
SPIRLOOM_C_API spirloom_status spirloom_context_create(const spirloom_model* model,
                                                       const spirloom_context_options* options,
                                                       spirloom_model** context,
                                                       spirloom_error** error);

// The names of the methods of the model's file, "" if `i` is out of range, and the method of the
// model. The only method of a file may have the name "". Names are valid as long as the model.
SPIRLOOM_C_API size_t spirloom_model_method_count(const spirloom_model* model);
SPIRLOOM_C_API const char* spirloom_model_method_name(const spirloom_model* model, size_t i);
SPIRLOOM_C_API const char* spirloom_model_method(const spirloom_model* model);

// An attachment: bytes in the graph file that the runtime does not interpret, e.g. a tokenizer.
// Pointers are valid as long as the model.
typedef struct spirloom_attachment_info {
  size_t struct_size;
  const char* name;  // unique, e.g. "tokenizer.json"
  const void* data;
  size_t size;  // bytes
} spirloom_attachment_info;

// Number of attachments of the file; independent of the method.
SPIRLOOM_C_API size_t spirloom_model_attachment_count(const spirloom_model* model);
// Fills `info`.
SPIRLOOM_C_API spirloom_status spirloom_model_attachment(const spirloom_model* model, size_t i,
                                                         spirloom_attachment_info* info,
                                                         spirloom_error** error);

// The attachments of a graph file, without a device.
typedef struct spirloom_attachments spirloom_attachments;
// Reads the attachments of the file at `path`. Fails like spirloom_model_load().
SPIRLOOM_C_API spirloom_status spirloom_attachments_read(const char* path,
                                                         spirloom_attachments** attachments,
                                                         spirloom_error** error);
SPIRLOOM_C_API void spirloom_attachments_destroy(spirloom_attachments* attachments);
SPIRLOOM_C_API size_t spirloom_attachments_count(const spirloom_attachments* attachments);
// Fills `info`, whose pointers are valid as long as the attachments.
SPIRLOOM_C_API spirloom_status spirloom_attachments_get(const spirloom_attachments* attachments,
                                                        size_t i, spirloom_attachment_info* info,
                                                        spirloom_error** error);

// A run in flight continues; its spirloom_pending_run remains usable.
SPIRLOOM_C_API void spirloom_model_destroy(spirloom_model* model);

// An input, output or state. Its bytes are dense, row-major and little-endian. Pointers are valid
// until the model is resized or destroyed.
typedef struct spirloom_tensor_info {
  size_t struct_size;
  const char* name;
  spirloom_dtype dtype;
  const int64_t* shape;  // `rank` sizes, outermost first; initially those of the maximum symbols
  // `rank` strings: the size of each dimension as an expression, e.g. "batch", "3", "2*height"; "?"
  // if it is only known after resizing.
  const char* const* dims;
  size_t rank;
  size_t size;  // bytes
  // Bounds of an input's values, inclusive: the graph computes int64 values of the source model as
  // int32, which is exact within these bounds. Runs do not check them.
  int64_t min;
  int64_t max;
} spirloom_tensor_info;

// Number of inputs and outputs.
SPIRLOOM_C_API size_t spirloom_model_input_count(const spirloom_model* model);
SPIRLOOM_C_API size_t spirloom_model_output_count(const spirloom_model* model);
// Fill `info`.
SPIRLOOM_C_API spirloom_status spirloom_model_input(const spirloom_model* model, size_t i,
                                                    spirloom_tensor_info* info,
                                                    spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_output(const spirloom_model* model, size_t i,
                                                     spirloom_tensor_info* info,
                                                     spirloom_error** error);

// A symbol: a dynamic dimension, e.g. "batch", with inclusive bounds.
typedef struct spirloom_symbol_info {
  size_t struct_size;
  const char* name;  // valid as long as the model
  int64_t min;
  int64_t max;
} spirloom_symbol_info;

// Number of symbols; 0 for a graph with static shapes.
SPIRLOOM_C_API size_t spirloom_model_symbol_count(const spirloom_model* model);
SPIRLOOM_C_API spirloom_status spirloom_model_symbol(const spirloom_model* model, size_t i,
                                                     spirloom_symbol_info* info,
                                                     spirloom_error** error);

// Sets the shapes of all inputs for the following runs. Changes the infos of inputs and outputs,
// the addresses of their bytes, and the statistics; invalidates the contents of these bytes. Shapes
// that are not cached (max_cached_shapes) are planned and recorded first; weights, pipelines and
// memory are shared with the other shapes. Fails with SPIRLOOM_INVALID_ARGUMENT, and changes
// nothing, for shapes that the graph does not accept (the message contains the bounds), with
// SPIRLOOM_BUSY during a run, and like spirloom_model_load().
SPIRLOOM_C_API spirloom_status spirloom_model_resize(spirloom_model* model,
                                                     const spirloom_shape* shapes,
                                                     size_t shape_count, spirloom_error** error);

// An integer input: an integer of a run that is no tensor, with inclusive bounds. Shapes and
// numbers of the graph depend on it.
typedef struct spirloom_int_input_info {
  size_t struct_size;
  const char* name;  // valid as long as the model
  int64_t min;
  int64_t max;
  int64_t value;    // initially the maximum
  size_t position;  // number of inputs before it in the order of the model's arguments
} spirloom_int_input_info;

// Number of integer inputs; 0 for most models.
SPIRLOOM_C_API size_t spirloom_model_int_input_count(const spirloom_model* model);
SPIRLOOM_C_API spirloom_status spirloom_model_int_input(const spirloom_model* model, size_t i,
                                                        spirloom_int_input_info* info,
                                                        spirloom_error** error);
// Sets an integer input for the following runs, with the current input shapes. Each value is
// prepared and cached like a set of shapes. Fails like spirloom_model_resize(), and with
// SPIRLOOM_INVALID_ARGUMENT for an unknown name.
SPIRLOOM_C_API spirloom_status spirloom_model_set_int(spirloom_model* model, const char* name,
                                                      int64_t value, spirloom_error** error);
// Sets the shapes of all inputs, like spirloom_model_resize(), and the values of all integer
// inputs.
SPIRLOOM_C_API spirloom_status spirloom_model_resize_with_ints(
    spirloom_model* model, const spirloom_shape* shapes, size_t shape_count, const int64_t* ints,
    size_t int_count, spirloom_error** error);

// Makes the current shapes the only ones of the method and of its later contexts, and releases the
// graph file: constants that are packed on the device then have no copy on the host. Other contexts
// keep their current shapes. A file with several methods is kept. Later resizes accept only the
// current shapes. Does nothing for a model without symbols.
SPIRLOOM_C_API spirloom_status spirloom_model_fix_shapes(spirloom_model* model,
                                                         spirloom_error** error);

// Statistics of loading, or of the resize that prepared the current shapes. Times in nanoseconds,
// sizes in bytes.
typedef struct spirloom_load_stats {
  size_t struct_size;
  uint64_t load_ns;         // total
  uint64_t pipeline_ns;     // creation of pipelines
  size_t pipelines;         // distinct pipelines
  size_t dispatches;        // per run
  size_t barriers;          // per run
  size_t submissions;       // per run: max_submission_ns divides long runs
  size_t layout_copies;     // inserted dispatches that convert between storages
  size_t aliased_views;     // nodes that became aliases
  uint64_t constant_bytes;  // constants on the device, after packing
  uint64_t planned_bytes;   // activation memory after planning
  uint64_t naive_bytes;     // activation memory without reuse
  uint64_t live_bytes;      // maximum of simultaneously live activations: a lower bound of any plan
  uint64_t state_bytes;     // states
} spirloom_load_stats;

// Fills `stats`.
SPIRLOOM_C_API spirloom_status spirloom_model_stats(const spirloom_model* model,
                                                    spirloom_load_stats* stats,
                                                    spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_MODEL_H_
