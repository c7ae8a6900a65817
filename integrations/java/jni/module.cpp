// Native functions of modules.
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "integrations/java/jni/support.h"
#include "runtime/base/error.h"

namespace spirloom::java {
namespace {

// Arguments of the functions that load a module.
struct LoadArguments {
  std::string method;
  std::vector<jlong> numbers;

  spirloom_model_options Options() const {
    spirloom_model_options options = SPIRLOOM_INIT(spirloom_model_options);
    options.method = method.c_str();
    options.storage = static_cast<spirloom_storage>(numbers[0]);
    options.max_cached_shapes = static_cast<size_t>(numbers[1]);
    options.max_device_bytes = static_cast<uint64_t>(numbers[2]);
    options.allow_exceeding_max = static_cast<uint64_t>(numbers[3]);
    return options;
  }
};

// Loads a module by load(options, model, error).
template <typename Function>
jlong Load(JNIEnv* env, jbyteArray method, jlongArray numbers, const Function& load) {
  return Guarded(env, [&]() -> Result<jlong> {
    LoadArguments arguments;
    SPIRLOOM_TRY_ASSIGN(arguments.method, ReadName(env, "method", method));
    SPIRLOOM_TRY_ASSIGN(arguments.numbers, ReadLongs(env, "numbers", numbers, 4));
    const spirloom_model_options options = arguments.Options();
    spirloom_model* model = nullptr;
    spirloom_error* error = nullptr;
    SPIRLOOM_TRY(load(options, &model, &error));
    SPIRLOOM_TRY(Take(error));
    return Handle(model);
  });
}

jlong LoadFile(JNIEnv* env, jclass, jlong runtime, jbyteArray path_bytes, jbyteArray method,
               jlongArray numbers) {
  return Load(
      env, method, numbers,
      [&](const spirloom_model_options& options, spirloom_model** model, spirloom_error** error) {
        SPIRLOOM_TRY_ASSIGN(const std::string path, ReadName(env, "path", path_bytes));
        spirloom_model_load(Pointer<spirloom_runtime>(runtime), path.c_str(), &options, model,
                            error);
        return Status();
      });
}

jlong LoadBuffer(JNIEnv* env, jclass, jlong runtime, jobject buffer, jlong size, jbyteArray method,
                 jlongArray numbers) {
  return Load(
      env, method, numbers,
      [&](const spirloom_model_options& options, spirloom_model** model, spirloom_error** error) {
        SPIRLOOM_TRY_ASSIGN(const DirectBuffer bytes, ReadBuffer(env, buffer, /*width=*/1));
        const size_t used = std::min(bytes.size, static_cast<size_t>(size));
        spirloom_model_load_from_memory(Pointer<spirloom_runtime>(runtime),
                                        used == 0 ? "" : bytes.data, used, &options, model, error);
        return Status();
      });
}

jlong LoadDescriptor(JNIEnv* env, jclass, jlong runtime, jint descriptor, jlong offset, jlong size,
                     jbyteArray method, jlongArray numbers) {
  return Load(
      env, method, numbers,
      [&](const spirloom_model_options& options, spirloom_model** model, spirloom_error** error) {
        spirloom_model_load_from_descriptor(Pointer<spirloom_runtime>(runtime), descriptor,
                                            static_cast<uint64_t>(offset),
                                            static_cast<uint64_t>(size), &options, model, error);
        return Status();
      });
}

jint NumberOf(JNIEnv* env, jclass, jobject descriptor) {
  return env->GetIntField(descriptor, classes().descriptor);
}

jlong CreateContext(JNIEnv* env, jclass, jlong module, jbyteArray method_bytes) {
  return Guarded(env, [&]() -> Result<jlong> {
    SPIRLOOM_TRY_ASSIGN(const std::string method, ReadName(env, "method", method_bytes));
    spirloom_context_options options = SPIRLOOM_INIT(spirloom_context_options);
    options.method = method.c_str();
    options.share_states = 1;
    spirloom_model* context = nullptr;
    spirloom_error* error = nullptr;
    spirloom_context_create(Pointer<spirloom_model>(module), &options, &context, &error);
    SPIRLOOM_TRY(Take(error));
    return Handle(context);
  });
}

void DestroyModule(JNIEnv*, jclass, jlong module) {
  spirloom_model_destroy(Pointer<spirloom_model>(module));
}

jobjectArray Methods(JNIEnv* env, jclass, jlong handle) {
  return Guarded(env, [&]() -> Result<jobjectArray> {
    const auto* module = Pointer<spirloom_model>(handle);
    std::vector<const char*> names = {spirloom_model_method(module)};
    for (size_t i = 0; i < spirloom_model_method_count(module); ++i) {
      names.push_back(spirloom_model_method_name(module, i));
    }
    SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> array, NewTexts(env, names));
    return array.Release();
  });
}

// ---- Properties of tensors ---------------------------------------------------------------------

// The functions of a kind of tensors: inputs, outputs, states.
struct Kind {
  size_t (*count)(const spirloom_model*);
  spirloom_status (*get)(const spirloom_model*, size_t, spirloom_tensor_info*, spirloom_error**);
};
constexpr std::array kKinds = {Kind{spirloom_model_input_count, spirloom_model_input},
                               Kind{spirloom_model_output_count, spirloom_model_output},
                               Kind{spirloom_model_state_count, spirloom_model_state}};

// The fields that Method.read() expects.
Result<jobjectArray> NewTensors(JNIEnv* env, const spirloom_model* module, const Kind& kind) {
  const size_t count = kind.count(module);
  SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> fields, NewArray(env, 5, classes().object));
  SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> shapes, NewArray(env, count, classes().longs));
  SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> dims, NewArray(env, count, classes().byte_arrays));
  std::vector<const char*> names;
  std::vector<jint> dtypes;
  std::vector<int64_t> bounds;
  for (size_t i = 0; i < count; ++i) {
    spirloom_tensor_info info = SPIRLOOM_INIT(spirloom_tensor_info);
    spirloom_error* error = nullptr;
    kind.get(module, i, &info, &error);
    SPIRLOOM_TRY(Take(error));
    names.push_back(info.name);
    dtypes.push_back(info.dtype);
    bounds.insert(bounds.end(), {info.min, info.max});
    SPIRLOOM_TRY(Store(env, shapes, i, NewLongs(env, std::span(info.shape, info.rank))));
    SPIRLOOM_TRY(Store(env, dims, i, NewTexts(env, std::span(info.dims, info.rank))));
  }
  Local<jintArray> codes(env, env->NewIntArray(static_cast<jsize>(count)));
  if (codes.get() == nullptr) return Pending();
  env->SetIntArrayRegion(codes.get(), 0, static_cast<jsize>(count), dtypes.data());
  SPIRLOOM_TRY(Store(env, fields, 0, NewTexts(env, names)));
  SPIRLOOM_TRY(Store(env, fields, 1, Result<Local<jintArray>>(std::move(codes))));
  SPIRLOOM_TRY(Store(env, fields, 2, Result<Local<jobjectArray>>(std::move(shapes))));
  SPIRLOOM_TRY(Store(env, fields, 3, Result<Local<jobjectArray>>(std::move(dims))));
  SPIRLOOM_TRY(Store(env, fields, 4, NewLongs(env, bounds)));
  return fields.Release();
}

jobjectArray Tensors(JNIEnv* env, jclass, jlong module, jint kind) {
  return Guarded(env, [&]() -> Result<jobjectArray> {
    if (kind < 0 || static_cast<size_t>(kind) >= kKinds.size()) {
      return Error(StatusCode::kInvalidArgument, "The kind of tensors is {}; expected 0 to 2.",
                   kind);
    }
    return NewTensors(env, Pointer<spirloom_model>(module), kKinds[static_cast<size_t>(kind)]);
  });
}

jobjectArray IntInputs(JNIEnv* env, jclass, jlong handle) {
  return Guarded(env, [&]() -> Result<jobjectArray> {
    const auto* module = Pointer<spirloom_model>(handle);
    std::vector<const char*> names;
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < spirloom_model_int_input_count(module); ++i) {
      spirloom_int_input_info info = SPIRLOOM_INIT(spirloom_int_input_info);
      spirloom_error* error = nullptr;
      spirloom_model_int_input(module, i, &info, &error);
      SPIRLOOM_TRY(Take(error));
      names.push_back(info.name);
      const auto position = static_cast<int64_t>(info.position);
      numbers.insert(numbers.end(), {info.min, info.max, position, info.value});
    }
    SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> fields, NewArray(env, 2, classes().object));
    SPIRLOOM_TRY(Store(env, fields, 0, NewTexts(env, names)));
    SPIRLOOM_TRY(Store(env, fields, 1, NewLongs(env, numbers)));
    return fields.Release();
  });
}

// ---- Execution ---------------------------------------------------------------------------------

void Resize(JNIEnv* env, jclass, jlong module, jobjectArray shape_arrays, jlongArray int_array) {
  GuardedCall(env, [&]() -> Status {
    const auto int_count = static_cast<size_t>(env->GetArrayLength(int_array));
    SPIRLOOM_TRY_ASSIGN(const auto ints_read, ReadLongs(env, "ints", int_array, int_count));
    const std::vector<int64_t> ints(ints_read.begin(), ints_read.end());
    std::vector<std::vector<int64_t>> sizes;
    for (jsize i = 0; i < env->GetArrayLength(shape_arrays); ++i) {
      const Local<jobject> element(env, env->GetObjectArrayElement(shape_arrays, i));
      auto* const array = static_cast<jlongArray>(element.get());
      const auto rank = static_cast<size_t>(env->GetArrayLength(array));
      SPIRLOOM_TRY_ASSIGN(const auto shape, ReadLongs(env, "shapes", array, rank));
      sizes.emplace_back(shape.begin(), shape.end());
    }
    std::vector<spirloom_shape> shapes;
    for (const std::vector<int64_t>& shape : sizes) shapes.push_back({shape.data(), shape.size()});
    spirloom_error* error = nullptr;
    spirloom_model_resize_with_ints(Pointer<spirloom_model>(module), shapes.data(), shapes.size(),
                                    ints.data(), ints.size(), &error);
    return Take(error);
  });
}

void FixShapes(JNIEnv* env, jclass, jlong module) {
  GuardedCall(env, [&]() -> Status {
    spirloom_error* error = nullptr;
    spirloom_model_fix_shapes(Pointer<spirloom_model>(module), &error);
    return Take(error);
  });
}

// Returns the memory of direct buffers, which the array keeps alive. `widths` begins with theirs.
Result<std::vector<DirectBuffer>> ReadBuffers(JNIEnv* env, jobjectArray buffers,
                                              std::span<const jint> widths) {
  std::vector<DirectBuffer> read;
  for (jsize i = 0; i < env->GetArrayLength(buffers); ++i) {
    const Local<jobject> buffer(env, env->GetObjectArrayElement(buffers, i));
    SPIRLOOM_TRY_ASSIGN(const DirectBuffer bytes,
                        ReadBuffer(env, buffer.get(), widths[static_cast<size_t>(i)]));
    read.push_back(bytes);
  }
  return read;
}

void Run(JNIEnv* env, jclass, jlong module, jobjectArray input_buffers, jobjectArray output_buffers,
         jintArray width_array) {
  GuardedCall(env, [&]() -> Status {
    const auto input_count = static_cast<size_t>(env->GetArrayLength(input_buffers));
    const auto output_count = static_cast<size_t>(env->GetArrayLength(output_buffers));
    std::vector<jint> widths(input_count + output_count);
    env->GetIntArrayRegion(width_array, 0, static_cast<jsize>(widths.size()), widths.data());
    if (env->ExceptionCheck()) return Pending();
    SPIRLOOM_TRY_ASSIGN(const auto from, ReadBuffers(env, input_buffers, widths));
    SPIRLOOM_TRY_ASSIGN(const auto to,
                        ReadBuffers(env, output_buffers, std::span(widths).subspan(input_count)));
    std::vector<spirloom_const_bytes> inputs;
    for (const DirectBuffer& bytes : from) inputs.push_back({bytes.data, bytes.size});
    std::vector<spirloom_bytes> outputs;
    for (const DirectBuffer& bytes : to) outputs.push_back({bytes.data, bytes.size});
    spirloom_error* error = nullptr;
    spirloom_model_run(Pointer<spirloom_model>(module), inputs.data(), inputs.size(),
                       outputs.data(), outputs.size(), &error);
    return Take(error);
  });
}

void ResetStates(JNIEnv* env, jclass, jlong module) {
  GuardedCall(env, [&]() -> Status {
    spirloom_error* error = nullptr;
    spirloom_model_reset_states(Pointer<spirloom_model>(module), &error);
    return Take(error);
  });
}

void ReadState(JNIEnv* env, jclass, jlong module, jint index, jobject buffer) {
  GuardedCall(env, [&]() -> Status {
    SPIRLOOM_TRY_ASSIGN(const DirectBuffer to, ReadBuffer(env, buffer, /*width=*/1));
    const spirloom_bytes bytes = {to.data, to.size};
    spirloom_error* error = nullptr;
    spirloom_model_read_state(Pointer<spirloom_model>(module), static_cast<size_t>(index), &bytes,
                              &error);
    return Take(error);
  });
}

void WriteState(JNIEnv* env, jclass, jlong module, jint index, jobject buffer, jint width) {
  GuardedCall(env, [&]() -> Status {
    SPIRLOOM_TRY_ASSIGN(const DirectBuffer from, ReadBuffer(env, buffer, width));
    const spirloom_const_bytes bytes = {from.data, from.size};
    spirloom_error* error = nullptr;
    spirloom_model_write_state(Pointer<spirloom_model>(module), static_cast<size_t>(index), &bytes,
                               &error);
    return Take(error);
  });
}

}  // namespace

std::span<const JNINativeMethod> ModuleFunctions() {
  static const std::array functions = {
      Entry("loadModule", "(J[B[B[J)J", LoadFile),
      Entry("loadModuleFromBuffer", "(JLjava/nio/ByteBuffer;J[B[J)J", LoadBuffer),
      Entry("loadModuleFromDescriptor", "(JIJJ[B[J)J", LoadDescriptor),
      Entry("numberOf", "(Ljava/io/FileDescriptor;)I", NumberOf),
      Entry("createContext", "(J[B)J", CreateContext),
      Entry("destroyModule", "(J)V", DestroyModule),
      Entry("methods", "(J)[[B", Methods),
      Entry("tensors", "(JI)[Ljava/lang/Object;", Tensors),
      Entry("intInputs", "(J)[Ljava/lang/Object;", IntInputs),
      Entry("resize", "(J[[J[J)V", Resize),
      Entry("fixShapes", "(J)V", FixShapes),
      Entry("run", "(J[Ljava/lang/Object;[Ljava/lang/Object;[I)V", Run),
      Entry("resetStates", "(J)V", ResetStates),
      Entry("readState", "(JILjava/nio/ByteBuffer;)V", ReadState),
      Entry("writeState", "(JILjava/lang/Object;I)V", WriteState),
  };
  return functions;
}

}  // namespace spirloom::java
