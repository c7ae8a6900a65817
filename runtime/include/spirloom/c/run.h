// Runs and states of models in the C API. Part of spirloom.h, which documents the conventions.
#ifndef SPIRLOOM_C_RUN_H_
#define SPIRLOOM_C_RUN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spirloom/c/base.h"
#include "spirloom/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Runs --------------------------------------------------------------------------------------

// Runs the model once and waits. inputs[i] contains exactly the size of input i in bytes;
// outputs[i] receives exactly the size of output i. Without inputs (NULL, 0), the run reads
// spirloom_model_input_bytes(). Without outputs (NULL, 0), results are only in
// spirloom_model_output_bytes(). Fails with SPIRLOOM_INVALID_ARGUMENT for other counts or sizes,
// SPIRLOOM_BUSY during a run, SPIRLOOM_DEVICE_LOST.
SPIRLOOM_C_API spirloom_status spirloom_model_run(spirloom_model* model,
                                                  const spirloom_const_bytes* inputs,
                                                  size_t input_count, const spirloom_bytes* outputs,
                                                  size_t output_count, spirloom_error** error);

// Zero copy: memory that is shared by host and device. A run reads input i from its bytes, and
// writes output i to its bytes. The addresses are valid until the model is resized or destroyed.
// Input memory may be write-combined: write it sequentially and do not read it. Do not access the
// memory during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_input_bytes(spirloom_model* model, size_t i,
                                                          spirloom_bytes* bytes,
                                                          spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_output_bytes(const spirloom_model* model, size_t i,
                                                           spirloom_const_bytes* bytes,
                                                           spirloom_error** error);

// Bind the application's host memory: the following runs read input i from, or write output i to,
// `size` bytes at `data`, by a copy on the device. The memory must stay valid while bound.
// spirloom_model_input_bytes() or spirloom_model_output_bytes() of a bound tensor is not used.
// Address and size must be multiples of the device's minImportedHostPointerAlignment (4096 on most
// devices). NULL unbinds. Fail with SPIRLOOM_INVALID_ARGUMENT if `size` is less than the tensor's
// size (the next run fails if a later resize exceeds it), SPIRLOOM_BUSY during a run,
// SPIRLOOM_UNSUPPORTED without VK_EXT_external_memory_host
// (spirloom_runtime_options.import_host_memory). spirloom_vulkan.h binds Vulkan buffers.
SPIRLOOM_C_API spirloom_status spirloom_model_bind_input_memory(spirloom_model* model, size_t i,
                                                                const void* data, size_t size,
                                                                spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_bind_output_memory(spirloom_model* model, size_t i,
                                                                 void* data, size_t size,
                                                                 spirloom_error** error);

// A run that was submitted. It shares the thread safety of its model and keeps its memory alive.
typedef struct spirloom_pending_run spirloom_pending_run;

// Starts a run and returns; reads the inputs like spirloom_model_run(). A model has at most one run
// in flight: fails with SPIRLOOM_BUSY until the previous run has been waited for.
SPIRLOOM_C_API spirloom_status spirloom_model_submit(spirloom_model* model,
                                                     const spirloom_const_bytes* inputs,
                                                     size_t input_count, spirloom_pending_run** run,
                                                     spirloom_error** error);
// Starts `count` consecutive runs in one submission, without host synchronization between them. All
// runs read the same inputs; each reads the states that the previous one wrote. The outputs are
// those of the last run. Counts as one run. Fails like spirloom_model_submit(), and with
// SPIRLOOM_INVALID_ARGUMENT for 0 or more than 65536 runs, and for more than one run of a model
// without states.
SPIRLOOM_C_API spirloom_status spirloom_model_submit_repeated(spirloom_model* model, size_t count,
                                                              spirloom_pending_run** run,
                                                              spirloom_error** error);
// Waits for the end of the run.
SPIRLOOM_C_API void spirloom_pending_run_destroy(spirloom_pending_run* run);
// Sets *done to whether the run has ended. Fails with SPIRLOOM_DEVICE_LOST.
SPIRLOOM_C_API spirloom_status spirloom_pending_run_is_done(const spirloom_pending_run* run,
                                                            bool* done, spirloom_error** error);
// Waits for the end of the run and copies the outputs like spirloom_model_run(). May be called
// repeatedly. Fails with SPIRLOOM_DEVICE_LOST; with SPIRLOOM_INVALID_ARGUMENT for other counts or
// sizes of outputs; with SPIRLOOM_BUSY if outputs are given and the model has run again.
SPIRLOOM_C_API spirloom_status spirloom_pending_run_wait(spirloom_pending_run* run,
                                                         const spirloom_bytes* outputs,
                                                         size_t output_count,
                                                         spirloom_error** error);

// Waits for at most `timeout_ns` nanoseconds, rounded up to the resolution of the device; 0 polls.
// Sets *ended to whether the run has ended. If not, the run continues and can be waited for again.
SPIRLOOM_C_API spirloom_status spirloom_pending_run_wait_for(spirloom_pending_run* run,
                                                             uint64_t timeout_ns, bool* ended,
                                                             spirloom_error** error);

// ---- States ------------------------------------------------------------------------------------

// Number of states. Each run reads the states that the previous run wrote; the first run reads
// their initial values. Resizing preserves them.
SPIRLOOM_C_API size_t spirloom_model_state_count(const spirloom_model* model);
// Fills `info`, whose pointers are valid as long as the model.
SPIRLOOM_C_API spirloom_status spirloom_model_state(const spirloom_model* model, size_t i,
                                                    spirloom_tensor_info* info,
                                                    spirloom_error** error);
// Sets every state to its initial value. Fails with SPIRLOOM_BUSY during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_reset_states(spirloom_model* model,
                                                           spirloom_error** error);
// Copy state `i` to or from `bytes`, whose size must equal the state's. Fail with
// SPIRLOOM_INVALID_ARGUMENT for another size, SPIRLOOM_BUSY during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_read_state(const spirloom_model* model, size_t i,
                                                         const spirloom_bytes* bytes,
                                                         spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_write_state(spirloom_model* model, size_t i,
                                                          const spirloom_const_bytes* bytes,
                                                          spirloom_error** error);
// Copies `bytes->size` bytes of state `i` from byte `offset` on. Fails like the above, and with
// SPIRLOOM_INVALID_ARGUMENT for a range beyond the state.
SPIRLOOM_C_API spirloom_status spirloom_model_read_state_range(const spirloom_model* model,
                                                               size_t i, size_t offset,
                                                               const spirloom_bytes* bytes,
                                                               spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_RUN_H_
