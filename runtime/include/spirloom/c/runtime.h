// Runtimes in the C API: their options, device and memory. Part of spirloom.h, which documents the
// conventions.
#ifndef SPIRLOOM_C_RUNTIME_H_
#define SPIRLOOM_C_RUNTIME_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spirloom/c/base.h"
#include "spirloom/c/device.h"
#include "spirloom/c/library.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Runtime -----------------------------------------------------------------------------------

// The severity of a log message.
typedef enum spirloom_log_level {
  SPIRLOOM_LOG_INFO = 0,     // a decision, e.g. the selected device
  SPIRLOOM_LOG_WARNING = 1,  // a fallback, e.g. a cache that cannot be written
  SPIRLOOM_LOG_ERROR = 2,    // a message of the validation layer
  SPIRLOOM_LOG_FORCE_32_BITS = 0x7fffffff
} spirloom_log_level;

// Performs item `i` of the work of a parallel_for().
typedef void (*spirloom_work)(size_t i, void* work_data);

struct VkAllocationCallbacks;    // vulkan_core.h
struct spirloom_adopted_device;  // spirloom_vulkan.h

// The priority of the GPU work of a runtime relative to other programs.
typedef enum spirloom_priority {
  SPIRLOOM_PRIORITY_DEFAULT = 0,
  SPIRLOOM_PRIORITY_LOW = 1,
  SPIRLOOM_PRIORITY_HIGH = 2
} spirloom_priority;

// Kernels that a model is about to use on a device, without a verdict about them.
typedef struct spirloom_verify_request {
  size_t struct_size;
  const char* device;    // an identifier of the device for spirloom_runtime_options.device
  const char* verdicts;  // path of the file to which verdicts are added
  // Names as in `spirloom verify --variant`: variants, e.g. "linear_tiled_64x64_f16_buffer", and
  // "vkCmdDispatchBase" for divided dispatches.
  const char* const* kernels;
  size_t kernel_count;
} spirloom_verify_request;

// Callbacks may be NULL. They must not throw or longjmp, and may be called on any thread. They and
// their data must stay valid as long as the runtime and its models.
typedef struct spirloom_runtime_options {
  size_t struct_size;
  // Enables the Khronos validation layer with synchronization validation. Messages are counted, and
  // logged to `log` or, without it, to stderr. Creation fails with SPIRLOOM_UNAVAILABLE if the
  // layer is not installed.
  bool validation;
  // Enables VK_EXT_external_memory_host if the device supports it, for
  // spirloom_model_bind_input_memory() and spirloom_model_bind_output_memory().
  bool import_host_memory;
  // VK_KHR_global_priority: low keeps a desktop responsive; high requires privileges on most
  // systems, and creation fails without them. No effect, with a warning, on devices without the
  // extension. Excludes `adopt`.
  spirloom_priority priority;
  // Shader libraries. The array and the libraries may be destroyed after creation. An operator that
  // is in two libraries is an error that names both, unless one of them overrides.
  const spirloom_library* const* libraries;
  size_t library_count;
  // An index into spirloom_devices_list(), a uuid, luid or pci identifier, or part of a name. NULL:
  // the environment variable SPIRLOOM_DEVICE if set, else the first device in the order discrete,
  // integrated, other, cpu.
  const char* device;
  // Selects only among devices for which it returns true. Called during creation on the same
  // thread; `info` is valid during the call.
  bool (*accept)(const spirloom_device_info* info, void* data);
  void* accept_data;
  // The application's device to use instead of a new one; read during creation only. Excludes
  // `device`, `accept` and `validation`.
  const struct spirloom_adopted_device* adopt;
  // Directory of the pipeline cache and of tuning results. NULL: $XDG_CACHE_HOME/spirloom or
  // ~/.cache/spirloom. "none": no cache is read or written.
  const char* cache_dir;
  // The verdicts of `spirloom verify` about the kernels of the libraries on the device: kernels
  // that were wrong, did not compile, crashed or hung are not selected. A path; NULL: the file in
  // `cache_dir`, if there is one; "none": verdicts are not read. Unless it is "none", a kernel that
  // the driver fails to compile is replaced by the next one too, with a log message.
  const char* verdicts;
  // Receives log messages without a newline; `message` is valid during the call. May be called by
  // several threads at once and within Vulkan calls: it must not call Spirloom or Vulkan.
  void (*log)(spirloom_log_level level, const char* message, void* data);
  void* log_data;
  // Maximum number of threads for loading a model, including the caller's. 0: one per core. Runs
  // use up to four of them for transfers of 2 MiB or more to or from a device with dedicated
  // memory.
  size_t threads;
  // Calls work(i, work_data) once for each i < count, on the application's threads, and returns
  // when all calls have returned. Called by threads that load or run models. `threads` is then
  // ignored.
  void (*parallel_for)(size_t count, spirloom_work work, void* work_data, void* data);
  void* parallel_for_data;
  // Allocator for Vulkan's host allocations. Copied; its pUserData must stay valid like a
  // callback's data. NULL: the driver's allocator.
  const struct VkAllocationCallbacks* allocator;
  // Maximum device memory in bytes that the runtime and its models may allocate. Loading beyond it
  // fails with SPIRLOOM_OUT_OF_MEMORY. 0: the device's memory.
  uint64_t memory_limit;
  // Maximum expected GPU time of a submission, in nanoseconds. Longer runs are divided into several
  // submissions, between dispatches or within one, without host synchronization and with equal
  // results: operating systems and drivers reset a device whose submission takes seconds, and other
  // programs wait for its end. Times are estimated, and measured from the second run on. 0: the
  // default, 100 ms. UINT64_MAX: a run is one submission.
  uint64_t max_submission_ns;
  // Has kernels verified, in another process since they may crash or hang it, and returns when
  // their verdicts are in the file. Called before a model uses kernels without a verdict, such as
  // on the first start on a device or after an update of its driver, on the loading thread, by one
  // thread at a time. The new verdicts are then read: kernels with a bad one are not selected, and
  // those that replace them are verified in turn. Kernels that still have none are used; return a
  // status other than SPIRLOOM_OK to refuse them, with which loading fails. NULL: kernels without a
  // verdict are used. Requires a file of `verdicts`. Must not load models on this runtime.
  spirloom_status (*verify)(const spirloom_verify_request* request, void* data);
  void* verify_data;
} spirloom_runtime_options;

// A Vulkan device together with its shader libraries.
typedef struct spirloom_runtime spirloom_runtime;

// Creates a runtime. `options` may be NULL: the default device without shader libraries, to query
// its properties. Fails with SPIRLOOM_UNAVAILABLE without a loader or device, SPIRLOOM_UNSUPPORTED
// if the selected device is below Vulkan 1.1 or an adopted device lacks requirements (the message
// lists all of them), SPIRLOOM_INVALID_ARGUMENT if the device does not exist or libraries conflict,
// SPIRLOOM_INVALID_FILE for a malformed library.
SPIRLOOM_C_API spirloom_status spirloom_runtime_create(const spirloom_runtime_options* options,
                                                       spirloom_runtime** runtime,
                                                       spirloom_error** error);
// Models of the runtime remain usable.
SPIRLOOM_C_API void spirloom_runtime_destroy(spirloom_runtime* runtime);
// Fills `info` with the properties of the device; `features` are those enabled for kernels.
SPIRLOOM_C_API spirloom_status spirloom_runtime_device(const spirloom_runtime* runtime,
                                                       spirloom_device_info* info,
                                                       spirloom_error** error);
// Number of operators in the runtime's libraries.
SPIRLOOM_C_API size_t spirloom_runtime_operator_count(const spirloom_runtime* runtime);
// Name of operator `i` in alphabetical order, e.g. "aten.add.Tensor".
SPIRLOOM_C_API const char* spirloom_runtime_operator(const spirloom_runtime* runtime, size_t i);
// Number of validation messages so far; 0 without validation and for a NULL runtime.
SPIRLOOM_C_API uint64_t spirloom_runtime_validation_message_count(const spirloom_runtime* runtime);

// Device memory in bytes: allocated by a runtime and its models, and free.
typedef struct spirloom_memory_stats {
  size_t struct_size;
  uint64_t in_use;  // currently
  uint64_t peak;    // maximum so far
  uint64_t limit;   // spirloom_runtime_options.memory_limit
  // Can still be allocated in the largest device-local heap: what VK_EXT_memory_budget reports, or
  // without it the size of the heap less `in_use`; at most what remains of `limit`.
  uint64_t free;
} spirloom_memory_stats;

// Fills `stats` with the current values.
SPIRLOOM_C_API spirloom_status spirloom_runtime_memory(const spirloom_runtime* runtime,
                                                       spirloom_memory_stats* stats,
                                                       spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_RUNTIME_H_
