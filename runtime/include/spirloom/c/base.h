// Declarations of all headers of the C API: linkage, version, errors, types.
// Part of spirloom.h, which documents the conventions.
#ifndef SPIRLOOM_C_BASE_H_
#define SPIRLOOM_C_BASE_H_

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

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_BASE_H_
