// Spirloom in C: the stable ABI, for C programs and for other languages. Everything that the C++
// API (model.h, runtime.h) does; docs/reference/c-api.md has a whole program. What names Vulkan's
// objects is in spirloom_vulkan.h.
//
//   spirloom_model* model = NULL;
//   spirloom_error* error = NULL;
//   if (spirloom_model_load(runtime, "net.slg", NULL, &model, &error) != SPIRLOOM_OK) {
//     fprintf(stderr, "%s\n", spirloom_error_message(error));
//     spirloom_error_destroy(error);
//   }
//
// Errors. What can fail returns a spirloom_status, and through its last argument, unless that is
// NULL, an error with the message: a value of the caller's, and no state of the thread, because
// coroutines, green threads and finalisers of other languages come between a call and a question
// for "the last error". Results come through pointers; on failure they are NULL or untouched.
// Nothing is thrown and nothing aborts: a NULL where none may be, a number out of range or a struct
// of the wrong size is SPIRLOOM_INVALID_ARGUMENT, a host out of memory is SPIRLOOM_OUT_OF_MEMORY.
// A pointer that is neither NULL nor valid is the caller's bug, as everywhere in C.
//
// Objects are opaque, made by a function that returns one and destroyed by spirloom_…_destroy(),
// which takes NULL too. They keep alive what they need: a library, runtime or model may be
// destroyed before what was made with it.
//
// Strings are UTF-8, end with a NUL and belong to whom they come from: those that are passed in
// need to last for the call alone; those that come out last as long as the object that they are
// asked of, or as its function says, and are never freed.
//
// Structs begin with their size, as the caller knows it, so that later versions may add members at
// their ends; SPIRLOOM_INIT(type) is one of zeros with its size. Zero or NULL means the default in
// every member. A struct that comes out is filled as far as its size goes. One that goes in may be
// of a later version, if what this library does not know is zero. spirloom_bytes,
// spirloom_const_bytes and spirloom_shape have no size, and will never change.
//
// Threads. A runtime, a library, a list of devices, a profile and an error may be used by several
// threads at once. A model together with its pending runs takes one call at a time; different
// models are independent of each other. Nothing may be used while it is being destroyed
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

// A struct of zeros with its size: spirloom_model_options options =
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

// Raised when a program made for an earlier one may no longer work; also the number in the shared
// library's name (libspirloom.so.1). What is only added leaves it.
#define SPIRLOOM_ABI_VERSION 1

// SPIRLOOM_ABI_VERSION of the library: compare it with your own after loading it at run time.
SPIRLOOM_C_API uint32_t spirloom_abi_version(void);

// The library's version, e.g. "0.1.0", and as one number that grows with it: 10203 is 1.2.3.
SPIRLOOM_C_API const char* spirloom_version(void);
SPIRLOOM_C_API uint32_t spirloom_version_number(void);

// ---- Errors ------------------------------------------------------------------------------------

// The numbers stay; later versions may add more.
typedef enum spirloom_status {
  SPIRLOOM_OK = 0,
  SPIRLOOM_INVALID_ARGUMENT = 1,  // the caller passed something wrong (a name, a shape, an option)
  SPIRLOOM_INVALID_FILE = 2,      // a graph, library or input file is malformed
  SPIRLOOM_NOT_FOUND = 3,         // a file, operator or variant does not exist
  SPIRLOOM_UNSUPPORTED = 4,       // valid, but not by this device or this library
  SPIRLOOM_OUT_OF_MEMORY = 5,     // the host's, the device's, or memory_limit is reached
  SPIRLOOM_DEVICE_LOST = 6,       // the device is gone for this process: make a new runtime
  SPIRLOOM_INTERNAL = 7,          // a mistake of Spirloom's, a library's or a driver's
  SPIRLOOM_BUSY = 8,              // right, but not now: a run is in flight, or its results are gone
  SPIRLOOM_PERMISSION = 9,        // the system does not let the program read the file
  SPIRLOOM_UNAVAILABLE = 10,      // this machine has no Vulkan loader, driver, device or layer
  SPIRLOOM_STATUS_FORCE_32_BITS = 0x7fffffff
} spirloom_status;

// E.g. "invalid argument"; "unknown" for a number that is none. Lasts as long as the program.
SPIRLOOM_C_API const char* spirloom_status_name(spirloom_status status);

// What went wrong. Where a function takes a spirloom_error**, it may be NULL; else *error becomes
// NULL on success and on failure an error to destroy. What it held before is not looked at.
typedef struct spirloom_error spirloom_error;

SPIRLOOM_C_API void spirloom_error_destroy(spirloom_error* error);
// What the failed function returned; of NULL, SPIRLOOM_OK.
SPIRLOOM_C_API spirloom_status spirloom_error_status(const spirloom_error* error);
// Sentences that name the thing, both values and the remedy, then a line " - While ..." for each
// caller that added context. Of NULL, "".
SPIRLOOM_C_API const char* spirloom_error_message(const spirloom_error* error);

// ---- Types and bytes ---------------------------------------------------------------------------

// Element types.
typedef enum spirloom_dtype {
  SPIRLOOM_F32 = 0,
  SPIRLOOM_F16 = 1,
  SPIRLOOM_I32 = 2,
  SPIRLOOM_I8 = 3,
  SPIRLOOM_U8 = 4,
  SPIRLOOM_B8 = 5,  // bool: a byte of 0 or 1
  SPIRLOOM_DTYPE_FORCE_32_BITS = 0x7fffffff
} spirloom_dtype;

// Bytes of one element: 4 for SPIRLOOM_F32, 1 for SPIRLOOM_B8; 0 for a number that is no dtype.
SPIRLOOM_C_API size_t spirloom_dtype_size(spirloom_dtype dtype);
// E.g. "float32", "bool"; "unknown" for a number that is none. Lasts as long as the program.
SPIRLOOM_C_API const char* spirloom_dtype_name(spirloom_dtype dtype);

// Where tensors live on the device (docs/explanation/architecture.md). Inputs and outputs are dense bytes in
// any of them.
typedef enum spirloom_storage {
  SPIRLOOM_STORAGE_AUTO = 0,  // a buffer, where the tensor asks for nothing else
  SPIRLOOM_STORAGE_BUFFER = 1,
  SPIRLOOM_STORAGE_TEXTURE3D = 2,
  SPIRLOOM_STORAGE_TEXTURE2D = 3,
  SPIRLOOM_STORAGE_FORCE_32_BITS = 0x7fffffff
} spirloom_storage;

// E.g. "texture3d", "auto"; "unknown" for a number that is none. Lasts as long as the program.
SPIRLOOM_C_API const char* spirloom_storage_name(spirloom_storage storage);

// Bytes that the caller owns, or that a function says who does. `data` may be NULL when `size` is
// 0.
typedef struct spirloom_bytes {
  void* data;
  size_t size;
} spirloom_bytes;

typedef struct spirloom_const_bytes {
  const void* data;
  size_t size;
} spirloom_const_bytes;

// Sizes of the dimensions, outermost first; a scalar has none.
typedef struct spirloom_shape {
  const int64_t* sizes;
  size_t rank;  // at most 8
} spirloom_shape;

// ---- Shader libraries --------------------------------------------------------------------------

// Operators and their compiled kernels: a file, or bytes in the program.
typedef struct spirloom_library spirloom_library;

// Opens the shader library in the file at `path` (.slpack, docs/how-to/shrink-the-binary.md). Maps
// the file and checks all of it. The kernels' SPIR-V goes to the driver as it is, so use files from
// whom you would take a program. The file must not be written to while in use; replacing it by
// another (rename) is fine. Fails with SPIRLOOM_NOT_FOUND when it does not exist,
// SPIRLOOM_INVALID_FILE when it is damaged or no shader pack, SPIRLOOM_UNSUPPORTED for another
// version of the format.
SPIRLOOM_C_API spirloom_status spirloom_library_open(const char* path, spirloom_library** library,
                                                     spirloom_error** error);

// A library's bytes in memory.
typedef struct spirloom_pack {
  size_t struct_size;
  const char* name;  // for messages, e.g. "spirloom::shaders_all"
  const void* data;  // the contents of a .slpack file, at an address that 8 divides
  size_t size;
} spirloom_pack;

// The library in these bytes, which must stay until it, and every runtime and model that was made
// with it, is destroyed. They are trusted like the program: spirloom_runtime_create() checks their
// structure, but no digest. `pack` and its name are copied.
SPIRLOOM_C_API spirloom_status spirloom_library_from_pack(const spirloom_pack* pack,
                                                          spirloom_library** library,
                                                          spirloom_error** error);

// The bytes of a library that the program links: CMake's spirloom_add_shader_library(FUNCTION Name)
// defines spirloom_Name(), to be declared like this one, which the target spirloom::shaders_all
// defines.
const spirloom_pack* spirloom_AllShaders(void);

SPIRLOOM_C_API void spirloom_library_destroy(spirloom_library* library);
// Its path, or the pack's name. Of NULL, "".
SPIRLOOM_C_API const char* spirloom_library_name(const spirloom_library* library);
// Whether its operators replace those of the same name in other libraries; false at first, and of
// no account for a library that was built to (OVERRIDE). For runtimes that are created later; not
// while another thread uses the library.
SPIRLOOM_C_API void spirloom_library_set_overrides(spirloom_library* library, bool overrides);

// ---- Devices -----------------------------------------------------------------------------------

// True if a Vulkan loader and a device of at least version 1.1 with a compute queue are present.
SPIRLOOM_C_API bool spirloom_is_available(void);

// What a device reports. Sizes in bytes. Pointers last as long as what the info was asked of.
typedef struct spirloom_device_info {
  size_t struct_size;
  const char* name;
  const char* type;         // "discrete", "integrated", "cpu", "virtual" or "other"
  const char* api_version;  // e.g. "1.3.230"
  const char* driver;       // its name and version in words, or the version alone
  // What tells equal devices apart, as spirloom_runtime_options.device takes it; "" where the
  // device does not say.
  const char* uuid;             // "uuid:" and 32 hexadecimal digits; the same in every process
  const char* luid;             // "luid:" and 16, as D3D and DXGI name the adapter (Windows)
  const char* pci;              // "pci:0000:01:00.0": domain, bus, device and function
  const char* const* features;  // e.g. "storage_buffer_16bit"
  size_t feature_count;
  bool usable;             // false: below Vulkan 1.1 or without a compute queue
  uint64_t device_memory;  // the largest device-local heap
  uint64_t max_storage_buffer_range;
  uint32_t max_image_dimension_3d;
  uint32_t subgroup_size;  // invocations
  // As Vulkan's numbers: the first is VK_MAKE_API_VERSION(), the second the vendor's own.
  uint32_t api_version_number;
  uint32_t driver_version_number;
  uint32_t vendor_id;
  uint32_t device_id;
} spirloom_device_info;

// The devices of this machine, at one time.
typedef struct spirloom_devices spirloom_devices;

// Lists them in the order in which an index selects them. Fails with SPIRLOOM_UNAVAILABLE without a
// loader.
SPIRLOOM_C_API spirloom_status spirloom_devices_list(spirloom_devices** devices,
                                                     spirloom_error** error);
SPIRLOOM_C_API void spirloom_devices_destroy(spirloom_devices* devices);
// Of NULL, 0.
SPIRLOOM_C_API size_t spirloom_devices_count(const spirloom_devices* devices);
// Fills `info`. Fails for an `i` that is not below spirloom_devices_count().
SPIRLOOM_C_API spirloom_status spirloom_devices_get(const spirloom_devices* devices, size_t i,
                                                    spirloom_device_info* info,
                                                    spirloom_error** error);

// The features that spirloom_device_info.features may name: what a device lacks is the rest of
// them.
SPIRLOOM_C_API size_t spirloom_known_feature_count(void);
// E.g. "storage_buffer_16bit"; lasts as long as the program. NULL for an `i` that is not below the
// count.
SPIRLOOM_C_API const char* spirloom_known_feature(size_t i);

// ---- Runtime -----------------------------------------------------------------------------------

// How much a message matters.
typedef enum spirloom_log_level {
  SPIRLOOM_LOG_INFO = 0,     // what was chosen, e.g. the device
  SPIRLOOM_LOG_WARNING = 1,  // what works, but not as it could: a fallback, a cache not writable
  SPIRLOOM_LOG_ERROR = 2,    // messages of the validation layer
  SPIRLOOM_LOG_FORCE_32_BITS = 0x7fffffff
} spirloom_log_level;

// Does a part of the work of a parallel_for().
typedef void (*spirloom_work)(size_t i, void* work_data);

struct VkAllocationCallbacks;    // Vulkan's
struct spirloom_adopted_device;  // spirloom_vulkan.h

// Callbacks may be NULL. No exception and no longjmp may leave one; it and its data must stay as
// long as the runtime and its models, and the callback may be called on any thread.
typedef struct spirloom_runtime_options {
  size_t struct_size;
  // Turns the Khronos validation layer on, synchronisation validation included. Each message is
  // counted and goes to `log`, or without one to stderr. Fails with SPIRLOOM_UNAVAILABLE when the
  // layer is not installed.
  bool validation;
  // Enables VK_EXT_external_memory_host where the device has it, for
  // spirloom_model_bind_input_memory() and spirloom_model_bind_output_memory().
  bool import_host_memory;
  // Operators and kernels. The array may go after the call, and the libraries too. The same
  // operator in two libraries is an error that names both, unless one of them overrides.
  const spirloom_library* const* libraries;
  size_t library_count;
  // An index into spirloom_devices_list(), a device's uuid, luid or pci, or a part of its name.
  // NULL: the environment variable SPIRLOOM_DEVICE, and without it the first of discrete,
  // integrated, other, cpu.
  const char* device;
  // Only devices for which it returns true are chosen from. Called while the runtime is created, on
  // that thread; `info` lasts as long as the call.
  bool (*accept)(const spirloom_device_info* info, void* data);
  void* accept_data;
  // A device of the application's to work on, in place of an own one; read while the runtime is
  // created. `device`, `accept` and `validation` must not be set beside it.
  const struct spirloom_adopted_device* adopt;
  // Folder of the pipeline cache and of what tuning found. NULL: $XDG_CACHE_HOME/spirloom or
  // ~/.cache/spirloom. "none": neither is read or written.
  const char* cache_dir;
  // Gets messages, without a newline; `message` lasts as long as the call. By several threads at
  // once, also from inside Vulkan: it must not call into Spirloom or Vulkan.
  void (*log)(spirloom_log_level level, const char* message, void* data);
  void* log_data;
  // How many threads loading a model may use, the caller's included. 0: one for each core. A run
  // uses up to four of them to copy inputs, or outputs, of 2 MiB and more to or from a device with
  // memory of its own.
  size_t threads;
  // Calls work(i, work_data) for each i < count, on threads of the application's, and returns when
  // all is done; by whichever thread loads or runs. `threads` then means nothing.
  void (*parallel_for)(size_t count, spirloom_work work, void* work_data, void* data);
  void* parallel_for_data;
  // Passed to every Vulkan call that takes one. Copied; its pUserData must stay like a callback's
  // data. NULL: the driver's own.
  const struct VkAllocationCallbacks* allocator;
  // The most device memory, in bytes, that the runtime and its models allocate; beyond it loading
  // fails with SPIRLOOM_OUT_OF_MEMORY. 0: what the device has.
  uint64_t memory_limit;
} spirloom_runtime_options;

// A Vulkan device together with the shader libraries to use on it.
typedef struct spirloom_runtime spirloom_runtime;

// `options` may be NULL: a runtime without libraries, which can say what its device is. Fails with
// SPIRLOOM_UNAVAILABLE without a loader or a device, SPIRLOOM_UNSUPPORTED when the chosen device is
// below Vulkan 1.1 or an adopted one lacks something (the message lists all of it),
// SPIRLOOM_INVALID_ARGUMENT for a device that does not exist or for libraries that clash,
// SPIRLOOM_INVALID_FILE for a library that is malformed.
SPIRLOOM_C_API spirloom_status spirloom_runtime_create(const spirloom_runtime_options* options,
                                                       spirloom_runtime** runtime,
                                                       spirloom_error** error);
// Its models stay usable.
SPIRLOOM_C_API void spirloom_runtime_destroy(spirloom_runtime* runtime);
// Fills `info` with what the runtime's device reports; `features` are those that kernels may use.
SPIRLOOM_C_API spirloom_status spirloom_runtime_device(const spirloom_runtime* runtime,
                                                       spirloom_device_info* info,
                                                       spirloom_error** error);
// How many operators the runtime's libraries have; of NULL, 0.
SPIRLOOM_C_API size_t spirloom_runtime_operator_count(const spirloom_runtime* runtime);
// The name of the `i`-th, in order of name, e.g. "aten.add.Tensor". NULL for an `i` that is not
// below the count.
SPIRLOOM_C_API const char* spirloom_runtime_operator(const spirloom_runtime* runtime, size_t i);
// The number of validation messages so far; 0 when validation is off, and of NULL.
SPIRLOOM_C_API uint64_t spirloom_runtime_validation_message_count(const spirloom_runtime* runtime);

// Device memory that a runtime and its models have allocated, in bytes.
typedef struct spirloom_memory_stats {
  size_t struct_size;
  uint64_t in_use;  // now
  uint64_t peak;    // the most so far
  uint64_t limit;   // spirloom_runtime_options.memory_limit
} spirloom_memory_stats;

// Fills `stats` with what is so at this moment.
SPIRLOOM_C_API spirloom_status spirloom_runtime_memory(const spirloom_runtime* runtime,
                                                       spirloom_memory_stats* stats,
                                                       spirloom_error** error);

// ---- Tuning ------------------------------------------------------------------------------------

// Measures which kernels are fastest (docs/how-to/tune.md).
typedef struct spirloom_tuner spirloom_tuner;

// For spirloom_model_options.tune; lasts as long as the program. What measures is linked into
// programs that call this, and no others.
SPIRLOOM_C_API const spirloom_tuner* spirloom_measured_kernels(void);

// What it found for one call. Times in nanoseconds, the least of several runs. Lasts, strings
// included, while on_tuned runs.
typedef struct spirloom_tuned_call {
  size_t struct_size;
  const char* call;    // e.g. "aten.convolution(f32[1,3,8,8], …) in buffer"
  const char* node;    // the first that makes it
  const char* rule;    // the kernel that is used without measurements
  const char* kernel;  // the one to use: the rule's, unless another is faster by over 5 %
  uint64_t rule_ns;    // 0: it could not be measured
  uint64_t ns;
} spirloom_tuned_call;

// ---- Models ------------------------------------------------------------------------------------

// The device memory, pipelines and recorded commands of one graph.
typedef struct spirloom_model spirloom_model;

typedef struct spirloom_model_options {
  size_t struct_size;
  // The storage of tensors that do not ask for one. SPIRLOOM_STORAGE_AUTO is a buffer, on every
  // device and with `tune`, which chooses kernels and leaves storages as they are.
  spirloom_storage storage;
  // Records GPU timestamps around each dispatch, for spirloom_model_profile(). They take about a
  // microsecond a dispatch on GPUs, and do not show what overlaps.
  bool profile;
  // Names of kernels (spirloom-ops lists them) to take wherever they can compute a call, instead of
  // what the library prefers on the device: for tests and measurements.
  const char* const* kernels;
  size_t kernel_count;
  // spirloom_measured_kernels(), or NULL. Measures first, when loading and in a resize that
  // prepares sizes, every kernel that can compute a call, on data of its own, and uses the fastest;
  // so do later loads on the runtime's device, in this process and through cache_dir in others.
  // Takes seconds; what else the device does meanwhile disturbs it. Loading then fails with
  // SPIRLOOM_UNSUPPORTED on a device without timestamps.
  const spirloom_tuner* tune;
  // Called, unless NULL, for each call that `tune` measured, the `done`-th of `total`, on the
  // thread that loads or resizes. Must return: no exception and no longjmp may leave it. It and its
  // data must stay as long as the model.
  void (*on_tuned)(const spirloom_tuned_call* call, size_t done, size_t total, void* data);
  void* on_tuned_data;
  // For how many sizes of its inputs a model keeps what it prepared (commands, descriptors). 0: 8.
  size_t kept_sizes;
  // What a graph may take at most: dispatches take host memory, tensors the device's. 0: what
  // follows from the size of the file, enough for most (docs/reference/limits.md).
  uint64_t max_dispatches;
  uint64_t max_device_bytes;
  // Which method of the file, by name; NULL or empty: the first.
  const char* method;
  // NULL, or a model of the same file and runtime, with which the new one shares what is on the
  // device: weights, packed ones too, pipelines, the memory between dispatches, and states of the
  // same name, unless `own_states` is not 0. For threads they then count as one model. It may be
  // destroyed before the new one.
  const spirloom_model* shares;
  uint64_t own_states;
  // If not 0, records two GPU timestamps in each run, before its first dispatch and after its last
  // one, for spirloom_model_gpu_time(). Adds nothing to `profile`, whose timestamps tell that too.
  uint64_t time_runs;
} spirloom_model_options;

// Loads the graph at `path`. `options` may be NULL. Fails with SPIRLOOM_INVALID_FILE for a
// malformed file, SPIRLOOM_NOT_FOUND for a file that does not exist, or listing every (op, dtype,
// storage) that the runtime's libraries lack, SPIRLOOM_UNSUPPORTED for what the device cannot do,
// SPIRLOOM_OUT_OF_MEMORY.
SPIRLOOM_C_API spirloom_status spirloom_model_load(const spirloom_runtime* runtime,
                                                   const char* path,
                                                   const spirloom_model_options* options,
                                                   spirloom_model** model, spirloom_error** error);
// The same from the `size` bytes at `file`, which may be freed afterwards. A graph with its
// constants in another file is refused.
SPIRLOOM_C_API spirloom_status spirloom_model_load_from_memory(
    const spirloom_runtime* runtime, const void* file, size_t size,
    const spirloom_model_options* options, spirloom_model** model, spirloom_error** error);
// The methods of the model's file, by name; one that is alone may have none (""). The names last as
// long as the model. spirloom_model_method() is the model's own.
SPIRLOOM_C_API size_t spirloom_model_method_count(const spirloom_model* model);
SPIRLOOM_C_API const char* spirloom_model_method_name(const spirloom_model* model, size_t i);
SPIRLOOM_C_API const char* spirloom_model_method(const spirloom_model* model);

// Bytes that go with the network in its file and that the runtime does not read, such as a
// tokenizer. Pointers last as long as the model.
typedef struct spirloom_attachment_info {
  size_t struct_size;
  const char* name;  // unique, e.g. "tokenizer.json"
  const void* data;
  size_t size;  // bytes
} spirloom_attachment_info;

// How many there are, whatever the method; of NULL, 0.
SPIRLOOM_C_API size_t spirloom_model_attachment_count(const spirloom_model* model);
// Fills `info`. Fails for an `i` that is not below the count.
SPIRLOOM_C_API spirloom_status spirloom_model_attachment(const spirloom_model* model, size_t i,
                                                         spirloom_attachment_info* info,
                                                         spirloom_error** error);

// A run in flight goes on; its spirloom_pending_run keeps what it needs.
SPIRLOOM_C_API void spirloom_model_destroy(spirloom_model* model);

// An input or output. Its bytes are dense, row-major and little-endian. Pointers last until the
// model is resized or destroyed.
typedef struct spirloom_tensor_info {
  size_t struct_size;
  const char* name;
  spirloom_dtype dtype;
  const int64_t* shape;  // `rank` sizes of dimensions, outermost first; at first the greatest
  // `rank` texts: what each dimension is, e.g. "batch", "3", "2*height"; "?" where only resizing
  // tells.
  const char* const* dims;
  size_t rank;
  size_t size;  // bytes
  // An input's numbers must lie between these, both included: the graph computes with 32 bits what
  // the model computes with 64, which is exact for such numbers alone. Running does not check.
  int64_t least;
  int64_t greatest;
} spirloom_tensor_info;

// How many inputs and outputs there are; of NULL, 0.
SPIRLOOM_C_API size_t spirloom_model_input_count(const spirloom_model* model);
SPIRLOOM_C_API size_t spirloom_model_output_count(const spirloom_model* model);
// Fill `info`. Fail for an `i` that is not below the count.
SPIRLOOM_C_API spirloom_status spirloom_model_input(const spirloom_model* model, size_t i,
                                                    spirloom_tensor_info* info,
                                                    spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_output(const spirloom_model* model, size_t i,
                                                     spirloom_tensor_info* info,
                                                     spirloom_error** error);

// A size that varies from one resize to the next, e.g. "batch" between 1 and 8, both included.
typedef struct spirloom_symbol_info {
  size_t struct_size;
  const char* name;  // lasts as long as the model
  int64_t least;
  int64_t greatest;
} spirloom_symbol_info;

// None for most models; of NULL, 0.
SPIRLOOM_C_API size_t spirloom_model_symbol_count(const spirloom_model* model);
SPIRLOOM_C_API spirloom_status spirloom_model_symbol(const spirloom_model* model, size_t i,
                                                     spirloom_symbol_info* info,
                                                     spirloom_error** error);

// From now on runs with inputs of these shapes, one for each input; what the model said of its
// inputs, outputs, bytes and statistics changes, and what was in its bytes is lost. Sizes that are
// not among the last kept_sizes are planned and recorded first; weights, pipelines and memory are
// shared. Fails with SPIRLOOM_INVALID_ARGUMENT, changing nothing, for shapes that the graph does
// not take, naming the bounds, with SPIRLOOM_BUSY during a run; otherwise like loading.
SPIRLOOM_C_API spirloom_status spirloom_model_resize(spirloom_model* model,
                                                     const spirloom_shape* shapes,
                                                     size_t shape_count, spirloom_error** error);

// What loading, or the resize that prepared the sizes at hand, did. Times in nanoseconds, sizes in
// bytes.
typedef struct spirloom_load_stats {
  size_t struct_size;
  uint64_t load_ns;         // all of loading
  uint64_t pipeline_ns;     // creating pipelines
  size_t pipelines;         // distinct ones
  size_t dispatches;        // per run
  size_t barriers;          // per run
  size_t layout_copies;     // inserted dispatches that change storage
  size_t aliased_views;     // nodes that became aliases
  uint64_t constant_bytes;  // packed weights on the device
  uint64_t planned_bytes;   // activation memory after planning
  uint64_t naive_bytes;     // activation memory with no sharing
  uint64_t live_bytes;      // the most activation memory in use at once: no plan takes less
  uint64_t state_bytes;     // tensors that outlive runs
} spirloom_load_stats;

// Fills `stats`.
SPIRLOOM_C_API spirloom_status spirloom_model_stats(const spirloom_model* model,
                                                    spirloom_load_stats* stats,
                                                    spirloom_error** error);

// ---- Runs --------------------------------------------------------------------------------------

// Runs once and waits. Copies inputs[i], which holds exactly as many bytes as
// spirloom_model_input() says, and into outputs[i] exactly those of output i. `inputs` NULL with a
// count of 0: on what spirloom_model_input_bytes() hold. `outputs` NULL with a count of 0: copies
// none; they are in spirloom_model_output_bytes(). Fails with SPIRLOOM_INVALID_ARGUMENT for other
// counts and sizes, with SPIRLOOM_BUSY during a run, with SPIRLOOM_DEVICE_LOST.
SPIRLOOM_C_API spirloom_status spirloom_model_run(spirloom_model* model,
                                                  const spirloom_const_bytes* inputs,
                                                  size_t input_count, const spirloom_bytes* outputs,
                                                  size_t output_count, spirloom_error** error);

// Memory that the host and the device share, in place of copies: what is there when a run starts is
// input i, and when it has ended that is output i. The addresses stay until the model is resized or
// destroyed. Input memory may be slow to read: write it in order. Neither may be touched during a
// run. Fail for an `i` that is not below the count.
SPIRLOOM_C_API spirloom_status spirloom_model_input_bytes(spirloom_model* model, size_t i,
                                                          spirloom_bytes* bytes,
                                                          spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_output_bytes(const spirloom_model* model, size_t i,
                                                           spirloom_const_bytes* bytes,
                                                           spirloom_error** error);

// From now on runs take input i from, or put output i into, the `size` bytes of the application's
// at `data`, which the device then copies alone and which must stay; what
// spirloom_model_input_bytes() and spirloom_model_output_bytes() hold then means nothing. Address
// and size are multiples of the device's minImportedHostPointerAlignment (4096 is enough nearly
// everywhere). NULL ends it. Fail with SPIRLOOM_INVALID_ARGUMENT for memory that is smaller than
// the tensor, at the next run also when a resize made the tensor larger; with SPIRLOOM_BUSY during
// a run; with SPIRLOOM_UNSUPPORTED unless the runtime has VK_EXT_external_memory_host
// (spirloom_runtime_options.import_host_memory). For buffers of the application's:
// spirloom_vulkan.h.
SPIRLOOM_C_API spirloom_status spirloom_model_bind_input_memory(spirloom_model* model, size_t i,
                                                                const void* data, size_t size,
                                                                spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_bind_output_memory(spirloom_model* model, size_t i,
                                                                 void* data, size_t size,
                                                                 spirloom_error** error);

// A run that was started. It counts as its model for threads, and keeps what it needs of it.
typedef struct spirloom_pending_run spirloom_pending_run;

// Starts a run and returns at once; copies the inputs first, or takes those that are there, as
// spirloom_model_run() does. One run of a model is in flight at a time: fails with
// SPIRLOOM_BUSY before the last one has been waited for.
SPIRLOOM_C_API spirloom_status spirloom_model_submit(spirloom_model* model,
                                                     const spirloom_const_bytes* inputs,
                                                     size_t input_count, spirloom_pending_run** run,
                                                     spirloom_error** error);
// Starts `steps` runs in one submission, each after the one before it: on the inputs that are
// there, and on the states as that one left them, with nothing of the host's between them. Outputs
// are those of the last. It counts as one run. Fails as that does, and with
// SPIRLOOM_INVALID_ARGUMENT for 0 and more than 65536 steps, and for several of a model without
// states.
SPIRLOOM_C_API spirloom_status spirloom_model_submit_steps(spirloom_model* model, size_t steps,
                                                           spirloom_pending_run** run,
                                                           spirloom_error** error);
// Waits for the run's end first.
SPIRLOOM_C_API void spirloom_pending_run_destroy(spirloom_pending_run* run);
// Whether the run has ended, so that waiting returns at once. Fails with SPIRLOOM_DEVICE_LOST.
SPIRLOOM_C_API spirloom_status spirloom_pending_run_is_done(const spirloom_pending_run* run,
                                                            bool* done, spirloom_error** error);
// Waits for the end, any number of times, and copies the outputs like spirloom_model_run(). Fails
// with SPIRLOOM_DEVICE_LOST; where outputs are given, with SPIRLOOM_INVALID_ARGUMENT for other
// counts and sizes, with SPIRLOOM_BUSY when the model has run again meanwhile.
SPIRLOOM_C_API spirloom_status spirloom_pending_run_wait(spirloom_pending_run* run,
                                                         const spirloom_bytes* outputs,
                                                         size_t output_count,
                                                         spirloom_error** error);

// Waits for at most `timeout_ns` nanoseconds (rounded up to what the device can tell; 0 only
// looks). *ended is false when the run has not ended by then; it goes on, and may be waited for
// again.
SPIRLOOM_C_API spirloom_status spirloom_pending_run_wait_for(spirloom_pending_run* run,
                                                             uint64_t timeout_ns, bool* ended,
                                                             spirloom_error** error);

// ---- States ------------------------------------------------------------------------------------

// How many tensors outlive runs, such as a cache: each run finds them as the last one left them,
// the first one at their initial values. None for most models; of NULL, 0. Resizing leaves them
// alone.
SPIRLOOM_C_API size_t spirloom_model_state_count(const spirloom_model* model);
// Fills `info`, whose pointers last as long as the model. Fails for an `i` that is not below the
// count.
SPIRLOOM_C_API spirloom_status spirloom_model_state(const spirloom_model* model, size_t i,
                                                    spirloom_tensor_info* info,
                                                    spirloom_error** error);
// Gives every state its initial value. Fails with SPIRLOOM_BUSY during a run, as the next two do.
SPIRLOOM_C_API spirloom_status spirloom_model_reset_states(spirloom_model* model,
                                                           spirloom_error** error);
// Copy state `i`, of exactly the bytes that spirloom_model_state() says, to `bytes` or from there.
// Fail with SPIRLOOM_INVALID_ARGUMENT for another size and for an `i` that is not below the count.
SPIRLOOM_C_API spirloom_status spirloom_model_read_state(const spirloom_model* model, size_t i,
                                                         const spirloom_bytes* bytes,
                                                         spirloom_error** error);
SPIRLOOM_C_API spirloom_status spirloom_model_write_state(spirloom_model* model, size_t i,
                                                          const spirloom_const_bytes* bytes,
                                                          spirloom_error** error);

// ---- Profiles ----------------------------------------------------------------------------------

// One dispatch of the recorded graph. Strings last as long as the profile.
typedef struct spirloom_dispatch_info {
  size_t struct_size;
  const char* node;       // the node's name in the model
  const char* op;         // "aten.add.Tensor"
  const char* variant;    // "add_f32_buffer"
  uint32_t grid[3];       // invocations asked for
  uint32_t workgroup[3];  // invocations of one workgroup
  uint64_t start_ns;      // from the first dispatch of the run
  uint64_t gpu_ns;        // 0 unless the model was loaded with `profile`
} spirloom_dispatch_info;

// The dispatches of one run.
typedef struct spirloom_profile spirloom_profile;

// The dispatches of the last run that was waited for, in order. Fails with
// SPIRLOOM_BUSY during a run.
SPIRLOOM_C_API spirloom_status spirloom_model_profile(const spirloom_model* model,
                                                      spirloom_profile** profile,
                                                      spirloom_error** error);
SPIRLOOM_C_API void spirloom_profile_destroy(spirloom_profile* profile);
// Of NULL, 0.
SPIRLOOM_C_API size_t spirloom_profile_count(const spirloom_profile* profile);
// Fills `info`. Fails for an `i` that is not below spirloom_profile_count().
SPIRLOOM_C_API spirloom_status spirloom_profile_get(const spirloom_profile* profile, size_t i,
                                                    spirloom_dispatch_info* info,
                                                    spirloom_error** error);

// What the last run that was waited for took on the device, in nanoseconds: from before its first
// dispatch until all of them had ended, so without copies of inputs and outputs; of
// spirloom_model_submit_steps() the last step. With spirloom_model_options.profile what the
// timestamps around dispatches take counts. 0 before the first run, and of a run without
// dispatches. Fails with SPIRLOOM_BUSY during a run, and with SPIRLOOM_INVALID_ARGUMENT for a model
// that was loaded with neither `time_runs` nor `profile`, and when the sizes of that run are not
// kept any more (kept_sizes).
SPIRLOOM_C_API spirloom_status spirloom_model_gpu_time(const spirloom_model* model, uint64_t* ns,
                                                       spirloom_error** error);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_SPIRLOOM_H_
