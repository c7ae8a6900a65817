// Spirloom's C API and stable ABI, for C programs and for bindings of other languages. It covers
// the C++ API (runtime.h, model.h). Functions that use Vulkan types are in spirloom_vulkan.h.
//
// Call sequence (docs/reference/c-api.md; examples/c is a complete program):
//
//   spirloom_error* error = NULL;
//   spirloom_library* library = NULL;
//   spirloom_library_open("shaders_all.slpack", &library, &error);
//
//   const spirloom_library* libraries[] = {library};
//   spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
//   options.libraries = libraries;
//   options.library_count = 1;
//   spirloom_runtime* runtime = NULL;
//   spirloom_runtime_create(&options, &runtime, &error);
//
//   spirloom_model* model = NULL;
//   if (spirloom_model_load(runtime, "net.slg", NULL, &model, &error) != SPIRLOOM_OK) {
//     fprintf(stderr, "%s\n", spirloom_error_message(error));
//     spirloom_error_destroy(error);
//   }
//   spirloom_model_run(model, inputs, input_count, outputs, output_count, &error);
//
// Terms:
//
// - operator: a function on tensors, named as in PyTorch, e.g. "aten.add.Tensor".
// - call: an operator applied to arguments of given dtypes, shapes and storages. Several nodes of a
//   graph can have the same call.
// - kernel: an implementation of an operator. For each call, a library prefers one kernel, by rules
//   over the shapes and the device: the default kernel. Tuning measures all kernels instead.
// - variant: a compiled kernel for one dtype and one storage, e.g. "add_f32_buffer".
// - method: one of several functions in a graph file over the same constants and states, e.g.
//   "prefill" and "decode".
// - state: a tensor that persists between runs, e.g. a KV cache.
// - symbol: a dynamic dimension of the inputs, e.g. "batch", with a minimum and a maximum.
//
// Errors: functions that can fail return a spirloom_status. Their last argument, if not NULL,
// receives an error object with the message. It belongs to the caller; there is no "last error" of
// a thread. Results are returned through pointers, which are NULL or unmodified on failure. No
// function throws or aborts: an unexpected NULL, a value out of range or a struct of the wrong size
// is SPIRLOOM_INVALID_ARGUMENT, exhausted host memory is SPIRLOOM_OUT_OF_MEMORY. A pointer that is
// neither NULL nor valid is undefined behavior.
//
// Indices: a function with an index `i` fails with SPIRLOOM_INVALID_ARGUMENT, or returns NULL, if
// `i` is not less than the matching count. The count of a NULL object is 0.
//
// Objects are opaque. A function returns them, spirloom_…_destroy() destroys them and accepts NULL.
// An object keeps the objects that it uses alive: a library, runtime or model may be destroyed
// before the objects that were created from it.
//
// Strings are UTF-8 and end with a NUL. Argument strings are only read during the call. Returned
// strings belong to the library: they are valid as long as the object that was queried, or as the
// function documents, and must not be freed.
//
// Structs begin with their size as the caller knows it (struct_size), so that later versions can
// append members. SPIRLOOM_INIT(type) is a zeroed struct with its size; zero or NULL is the default
// of every member. Functions fill an output struct up to its size. An input struct may be of a
// later version if the members that this library does not know are zero, else SPIRLOOM_UNSUPPORTED.
// spirloom_bytes, spirloom_const_bytes and spirloom_shape have no size and will never change.
//
// Thread safety: runtimes, libraries, device lists, profiles and errors may be used by several
// threads at once. A model and its pending runs together allow one call at a time; different models
// are independent. No object may be used while it is being destroyed
// (docs/explanation/threading.md).
#ifndef SPIRLOOM_SPIRLOOM_H_
#define SPIRLOOM_SPIRLOOM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(SPIRLOOM_C_BUILDING)
#define SPIRLOOM_C_API __declspec(dllexport)
#elif defined(_WIN32) && defined(SPIRLOOM_C_SHARED)
#define SPIRLOOM_C_API __declspec(dllimport)
#elif defined(__GNUC__) && defined(SPIRLOOM_C_BUILDING)
#define SPIRLOOM_C_API __attribute__((visibility("default")))
#else
#define SPIRLOOM_C_API
#endif

// A zeroed struct with its size, e.g. spirloom_model_options options =
// SPIRLOOM_INIT(spirloom_model_options).
#ifdef __cplusplus
template <typename T>
inline T spirloom_sized() {
  T value = T();
  value.struct_size = sizeof(T);
  return value;
}
#define SPIRLOOM_INIT(type) (spirloom_sized<type>())
extern "C" {
#else
#define SPIRLOOM_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

// ---- Version -----------------------------------------------------------------------------------

// Incremented when programs built for an earlier version may no longer work; also the number in the
// name of the shared library (libspirloom.so.1). Additions do not increment it.
#define SPIRLOOM_ABI_VERSION 1

// SPIRLOOM_ABI_VERSION of the library. Compare it with the header's after loading it at run time.
SPIRLOOM_C_API uint32_t spirloom_abi_version(void);

// The library's version as text, e.g. "0.1.0", and as an increasing integer, e.g. 10203 for 1.2.3.
SPIRLOOM_C_API const char* spirloom_version(void);
SPIRLOOM_C_API uint32_t spirloom_version_number(void);

// ---- Errors ------------------------------------------------------------------------------------

// Values never change; later versions may append some.
typedef enum spirloom_status {
  SPIRLOOM_OK = 0,
  SPIRLOOM_INVALID_ARGUMENT = 1,  // an argument is invalid, e.g. a name, a shape, an option
  SPIRLOOM_INVALID_FILE = 2,      // a graph, library or input file is malformed
  SPIRLOOM_NOT_FOUND = 3,         // a file, operator or variant does not exist
  SPIRLOOM_UNSUPPORTED = 4,       // valid, but the device or the library does not support it
  SPIRLOOM_OUT_OF_MEMORY = 5,     // of the host or the device, or memory_limit is reached
  SPIRLOOM_DEVICE_LOST = 6,       // the device is lost: destroy the runtime and create a new one
  SPIRLOOM_INTERNAL = 7,          // a bug in Spirloom, a shader library or a driver
  SPIRLOOM_BUSY = 8,              // a run is in flight, or its results were overwritten
  SPIRLOOM_PERMISSION = 9,        // the process may not read the file
  SPIRLOOM_UNAVAILABLE = 10,      // no Vulkan loader, driver, device or layer on this machine
  SPIRLOOM_STATUS_FORCE_32_BITS = 0x7fffffff
} spirloom_status;

// E.g. "invalid argument"; "unknown" for other values. Valid as long as the program.
SPIRLOOM_C_API const char* spirloom_status_name(spirloom_status status);

// An error: a status and a message. A function sets *error, if `error` is not NULL, to NULL on
// success and to a new error on failure; the caller destroys it. The previous value is not read.
typedef struct spirloom_error spirloom_error;

SPIRLOOM_C_API void spirloom_error_destroy(spirloom_error* error);
// The status that the function returned; SPIRLOOM_OK if `error` is NULL.
SPIRLOOM_C_API spirloom_status spirloom_error_status(const spirloom_error* error);
// Sentences with the expected value, the actual value and the remedy, followed by a line
// " - While ..." for each level of context. "" if `error` is NULL.
SPIRLOOM_C_API const char* spirloom_error_message(const spirloom_error* error);

// ---- Types and bytes ---------------------------------------------------------------------------

// Element types.
typedef enum spirloom_dtype {
  // Rows of data_types.inc: SPIRLOOM_{id} = {code},  // {long_name}: {description}
  SPIRLOOM_F32 = 0,     // float32: IEEE single precision
  SPIRLOOM_F16 = 1,     // float16: IEEE half precision
  SPIRLOOM_I32 = 2,     // int32: signed, two's complement
  SPIRLOOM_I8 = 3,      // int8: signed, two's complement
  SPIRLOOM_U8 = 4,      // uint8: unsigned
  SPIRLOOM_B8 = 5,      // bool: a byte of 0 or 1
  SPIRLOOM_F8E4M3 = 6,  // float8_e4m3fn: OCP 8-bit float, 4-bit exponent, no infinity
  SPIRLOOM_F8E5M2 = 7,  // float8_e5m2: OCP 8-bit float, 5-bit exponent
  SPIRLOOM_BF16 = 8,    // bfloat16: the upper half of a float32
  // End of rows.
  SPIRLOOM_DTYPE_FORCE_32_BITS = 0x7fffffff
} spirloom_dtype;

// Bytes of one element: 4 for SPIRLOOM_F32, 1 for SPIRLOOM_B8; 0 for other values.
SPIRLOOM_C_API size_t spirloom_dtype_size(spirloom_dtype dtype);
// E.g. "float32", "bool"; "unknown" for other values. Valid as long as the program.
SPIRLOOM_C_API const char* spirloom_dtype_name(spirloom_dtype dtype);

// The kind of device memory of a tensor (docs/explanation/architecture.md). Inputs and outputs are
// dense bytes, independent of it.
typedef enum spirloom_storage {
  // Rows of storages.inc: SPIRLOOM_STORAGE_{upper} = {code},  // {description}
  SPIRLOOM_STORAGE_AUTO = 0,       // a buffer, unless the graph file specifies another
  SPIRLOOM_STORAGE_BUFFER = 1,     // dense, row-major
  SPIRLOOM_STORAGE_TEXTURE3D = 2,  // a 3-D image of four channels per texel
  SPIRLOOM_STORAGE_TEXTURE2D = 3,  // the same texels in a layered 2-D image
  // End of rows.
  SPIRLOOM_STORAGE_FORCE_32_BITS = 0x7fffffff
} spirloom_storage;

// E.g. "texture3d", "auto"; "unknown" for other values. Valid as long as the program.
SPIRLOOM_C_API const char* spirloom_storage_name(spirloom_storage storage);

// A range of bytes. It belongs to the caller, unless a function documents otherwise. `data` may be
// NULL if `size` is 0.
typedef struct spirloom_bytes {
  void* data;
  size_t size;
} spirloom_bytes;

typedef struct spirloom_const_bytes {
  const void* data;
  size_t size;
} spirloom_const_bytes;

// Sizes of the dimensions, outermost first. Rank 0 is a scalar.
typedef struct spirloom_shape {
  const int64_t* sizes;
  size_t rank;  // at most 8
} spirloom_shape;

// ---- Shader libraries --------------------------------------------------------------------------

// Operators and their compiled kernels, from a file or from bytes in the program.
typedef struct spirloom_library spirloom_library;

// Opens the shader library at `path` (.slpack, docs/how-to/shrink-the-binary.md). Maps the file and
// checks its digest and structure. The SPIR-V goes to the driver unmodified, so only open files
// from trusted sources. The file must not be modified while in use; replacing it (rename) is
// allowed. Fails with SPIRLOOM_NOT_FOUND if it does not exist, SPIRLOOM_PERMISSION if it is not
// readable, SPIRLOOM_INVALID_FILE if it is damaged or not a shader pack, SPIRLOOM_UNSUPPORTED for
// another version of the format.
SPIRLOOM_C_API spirloom_status spirloom_library_open(const char* path, spirloom_library** library,
                                                     spirloom_error** error);

// The bytes of a shader library in memory.
typedef struct spirloom_pack {
  size_t struct_size;
  const char* name;  // for messages, e.g. "spirloom::shaders_all"
  const void* data;  // the contents of a .slpack file, 8-byte aligned
  size_t size;
} spirloom_pack;

// Creates a library of these bytes, which must stay valid until the library and all runtimes and
// models created with it are destroyed. They are trusted like code: spirloom_runtime_create()
// checks their structure, but not their digest. `pack` and its name are copied.
SPIRLOOM_C_API spirloom_status spirloom_library_from_pack(const spirloom_pack* pack,
                                                          spirloom_library** library,
                                                          spirloom_error** error);

// The bytes of the shader library of the target spirloom::shaders_all. CMake's
// spirloom_add_shader_library(FUNCTION Name) defines spirloom_Name(), which the program declares in
// the same way.
const spirloom_pack* spirloom_AllShaders(void);

SPIRLOOM_C_API void spirloom_library_destroy(spirloom_library* library);
// Its path, or the pack's name; "" if `library` is NULL.
SPIRLOOM_C_API const char* spirloom_library_name(const spirloom_library* library);
// Sets whether the library's operators replace those of the same name in other libraries; false by
// default. No effect on a library that was built with OVERRIDE. Applies to runtimes created later.
// Not thread-safe: no other thread may use the library during the call.
SPIRLOOM_C_API void spirloom_library_set_overrides(spirloom_library* library, bool overrides);

// ---- Devices -----------------------------------------------------------------------------------

// True if this machine has a Vulkan loader and a device with Vulkan 1.1 and a compute queue.
SPIRLOOM_C_API bool spirloom_is_available(void);

// A property of a device that selects kernels.
typedef struct spirloom_device_property {
  const char* name;  // e.g. "cores"
  int64_t value;
} spirloom_device_property;

// Properties of a device. Sizes in bytes. Pointers are valid as long as the object that was
// queried.
typedef struct spirloom_device_info {
  size_t struct_size;
  const char* name;
  const char* type;         // "discrete", "integrated", "cpu", "virtual" or "other"
  const char* api_version;  // e.g. "1.3.230"
  const char* driver;       // name and version, or only the version
  // Identifiers of the device, accepted by spirloom_runtime_options.device; "" if the device does
  // not report one.
  const char* uuid;             // "uuid:" and 32 hexadecimal digits; the same in every process
  const char* luid;             // "luid:" and 16 digits: the adapter LUID of D3D and DXGI (Windows)
  const char* pci;              // "pci:0000:01:00.0": domain, bus, device and function
  const char* const* features;  // e.g. "storage_buffer_16bit"
  size_t feature_count;
  bool usable;             // false: below Vulkan 1.1 or without a compute queue
  uint64_t device_memory;  // the largest device-local heap
  uint64_t max_storage_buffer_range;
  uint32_t max_image_dimension_3d;
  uint32_t subgroup_size;  // invocations
  // VK_MAKE_API_VERSION(), the vendor's encoding of the version, and PCI ids.
  uint32_t api_version_number;
  uint32_t driver_version_number;
  uint32_t vendor_id;
  uint32_t device_id;
  uint32_t driver_id;  // VkDriverId; 0: not reported
  // Loop iterations of an invocation after which the driver ends its loops; 0: no limit. Kernels
  // are selected accordingly.
  uint64_t max_loop_iterations;
  // The properties that select kernels, by their names in op specs, e.g. "cores". Bools are 0 or 1.
  const spirloom_device_property* properties;
  size_t property_count;
} spirloom_device_info;

// A snapshot of the devices of this machine.
typedef struct spirloom_devices spirloom_devices;

// Lists the devices; their order defines the index in spirloom_runtime_options.device. Fails with
// SPIRLOOM_UNAVAILABLE without a Vulkan loader.
SPIRLOOM_C_API spirloom_status spirloom_devices_list(spirloom_devices** devices,
                                                     spirloom_error** error);
SPIRLOOM_C_API void spirloom_devices_destroy(spirloom_devices* devices);
SPIRLOOM_C_API size_t spirloom_devices_count(const spirloom_devices* devices);
// Fills `info`.
SPIRLOOM_C_API spirloom_status spirloom_devices_get(const spirloom_devices* devices, size_t i,
                                                    spirloom_device_info* info,
                                                    spirloom_error** error);

// All features that spirloom_device_info.features can contain. A device lacks those that it does
// not list.
SPIRLOOM_C_API size_t spirloom_known_feature_count(void);
// E.g. "storage_buffer_16bit". Valid as long as the program.
SPIRLOOM_C_API const char* spirloom_known_feature(size_t i);

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
// destroyed.
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

// ---- Profiles ----------------------------------------------------------------------------------

// One recorded dispatch. Strings are valid as long as the profile.
typedef struct spirloom_dispatch_info {
  size_t struct_size;
  const char* node;       // name of the node in the graph
  const char* op;         // e.g. "aten.add.Tensor"
  const char* variant;    // e.g. "add_f32_buffer"
  uint32_t grid[3];       // requested invocations
  uint32_t workgroup[3];  // invocations per workgroup
  uint64_t start_ns;      // since the first dispatch of the run
  uint64_t gpu_ns;        // duration; 0 unless the model was loaded with `profile`
} spirloom_dispatch_info;

// The dispatches of one run.
typedef struct spirloom_profile spirloom_profile;

// Returns the dispatches of the last run that was waited for, in order. Before the first run, and
// without spirloom_model_options.profile, all times are 0. Fails with SPIRLOOM_BUSY during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_profile(const spirloom_model* model,
                                                      spirloom_profile** profile,
                                                      spirloom_error** error);
SPIRLOOM_C_API void spirloom_profile_destroy(spirloom_profile* profile);
SPIRLOOM_C_API size_t spirloom_profile_count(const spirloom_profile* profile);
// Fills `info`.
SPIRLOOM_C_API spirloom_status spirloom_profile_get(const spirloom_profile* profile, size_t i,
                                                    spirloom_dispatch_info* info,
                                                    spirloom_error** error);

// Sets *ns to the GPU time in nanoseconds of the last run that was waited for: from the start of
// the first dispatch to the end of the last one, without transfers of inputs and outputs. Of
// several runs in one submission, it is the last run. With spirloom_model_options.profile it
// includes the overhead of the timestamps. 0 before the first run and for a run without dispatches.
// Fails with SPIRLOOM_BUSY during a run, and with SPIRLOOM_INVALID_ARGUMENT if the model was loaded
// without `time_runs` and `profile`, or the shapes of that run are no longer cached.
SPIRLOOM_C_API spirloom_status spirloom_model_gpu_time(const spirloom_model* model, uint64_t* ns,
                                                       spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_SPIRLOOM_H_
