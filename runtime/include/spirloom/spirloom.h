// Spirloom's C API and stable ABI, for C programs and for bindings of other languages. It covers
// the C++ API (runtime.h, model.h). Functions that use Vulkan types are in spirloom_vulkan.h.
//
// The declarations are in spirloom/c/, one header per topic; each of them can also be included.
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
// - stream: device memory and operations on it, without models.
// - state: a tensor that persists between runs, e.g. a KV cache.
// - symbol: a dynamic dimension of the inputs, e.g. "batch", with a minimum and a maximum, or the
//   value of an integer input.
// - integer input: an integer of a run that is no tensor, e.g. the length of a generated sequence.
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
// spirloom_bytes, spirloom_const_bytes, spirloom_shape and those that say so have no size and will
// never change.
//
// Thread safety: runtimes, libraries, device lists, streams, profiles and errors may be used by
// several threads at once. A model and its pending runs together allow one call at a time;
// different models are independent. No object may be used while it is being destroyed
// (docs/explanation/threading.md).
#ifndef SPIRLOOM_SPIRLOOM_H_
#define SPIRLOOM_SPIRLOOM_H_

#include "spirloom/c/base.h"
#include "spirloom/c/device.h"
#include "spirloom/c/library.h"
#include "spirloom/c/model.h"
#include "spirloom/c/profile.h"
#include "spirloom/c/run.h"
#include "spirloom/c/runtime.h"
#include "spirloom/c/stream.h"

#endif  // SPIRLOOM_SPIRLOOM_H_
