// Native functions of runtimes, devices and logs.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "integrations/java/jni/log.h"
#include "integrations/java/jni/support.h"

namespace spirloom::java {
namespace {

// Destroys an object of the C API.
template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
using Library = std::unique_ptr<spirloom_library, Destroy<spirloom_library_destroy>>;
using Devices = std::unique_ptr<spirloom_devices, Destroy<spirloom_devices_destroy>>;

Result<Library> BuiltIn() {
  spirloom_library* library = nullptr;
  spirloom_error* error = nullptr;
  spirloom_library_from_pack(spirloom_AllShaders(), &library, &error);
  SPIRLOOM_TRY(Take(error));
  return Library(library);
}

Result<Library> Open(const std::string& path) {
  spirloom_library* library = nullptr;
  spirloom_error* error = nullptr;
  spirloom_library_open(path.c_str(), &library, &error);
  SPIRLOOM_TRY(Take(error));
  return Library(library);
}

const char* NullIfEmpty(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

Result<jlong> Create(JNIEnv* env, jbyteArray device_bytes, jobjectArray library_bytes,
                     jbyteArray cache_bytes, jlongArray number_array) {
  SPIRLOOM_TRY_ASSIGN(const std::string device, ReadName(env, "device", device_bytes));
  SPIRLOOM_TRY_ASSIGN(const std::string cache, ReadName(env, "cacheDirectory", cache_bytes));
  SPIRLOOM_TRY_ASSIGN(const auto paths, ReadNames(env, "libraries", library_bytes));
  SPIRLOOM_TRY_ASSIGN(const auto numbers, ReadLongs(env, "numbers", number_array, 5));
  std::vector<Library> owned;
  SPIRLOOM_TRY_ASSIGN(Library built_in, BuiltIn());
  owned.push_back(std::move(built_in));
  for (const std::string& path : paths) {
    SPIRLOOM_TRY_ASSIGN(Library library, Open(path));
    owned.push_back(std::move(library));
  }
  std::vector<const spirloom_library*> libraries;
  for (const Library& library : owned) libraries.push_back(library.get());

  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.libraries = libraries.data();
  options.library_count = libraries.size();
  options.device = NullIfEmpty(device);
  options.cache_dir = NullIfEmpty(cache);
  options.log = Log;
  options.validation = (numbers[0] & 1) != 0;
  options.priority = static_cast<spirloom_priority>(numbers[1]);
  options.threads = static_cast<size_t>(numbers[2]);
  options.memory_limit = static_cast<uint64_t>(numbers[3]);
  options.max_submission_ns = static_cast<uint64_t>(numbers[4]);
  spirloom_runtime* runtime = nullptr;
  spirloom_error* error = nullptr;
  spirloom_runtime_create(&options, &runtime, &error);
  SPIRLOOM_TRY(Take(error));
  return Handle(runtime);
}

// The fields of the constructor of DeviceInfo.
Result<Local<jobjectArray>> NewDevice(JNIEnv* env, const spirloom_device_info& info) {
  SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> fields, NewArray(env, 5, classes().object));
  const std::array texts = {info.name,   info.type, info.api_version,
                            info.driver, info.uuid, info.pci};
  SPIRLOOM_TRY(Store(env, fields, 0, NewTexts(env, texts)));
  const std::array<int64_t, 6> numbers = {info.usable ? 1 : 0,
                                          static_cast<int64_t>(info.device_memory),
                                          static_cast<int64_t>(info.max_storage_buffer_range),
                                          info.subgroup_size,
                                          info.vendor_id,
                                          info.device_id};
  SPIRLOOM_TRY(Store(env, fields, 1, NewLongs(env, numbers)));
  SPIRLOOM_TRY(Store(env, fields, 2, NewTexts(env, std::span(info.features, info.feature_count))));
  std::vector<const char*> names;
  std::vector<int64_t> values;
  for (const spirloom_device_property& property : std::span(info.properties, info.property_count)) {
    names.push_back(property.name);
    values.push_back(property.value);
  }
  SPIRLOOM_TRY(Store(env, fields, 3, NewTexts(env, names)));
  SPIRLOOM_TRY(Store(env, fields, 4, NewLongs(env, values)));
  return fields;
}

Result<jobjectArray> ListDevices(JNIEnv* env) {
  spirloom_devices* listed = nullptr;
  spirloom_error* error = nullptr;
  spirloom_devices_list(&listed, &error);
  SPIRLOOM_TRY(Take(error));
  const Devices devices(listed);
  const size_t count = spirloom_devices_count(listed);
  SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> array, NewArray(env, count, classes().objects));
  for (size_t i = 0; i < count; ++i) {
    spirloom_device_info info = SPIRLOOM_INIT(spirloom_device_info);
    spirloom_devices_get(listed, i, &info, &error);
    SPIRLOOM_TRY(Take(error));
    SPIRLOOM_TRY(Store(env, array, i, NewDevice(env, info)));
  }
  return array.Release();
}

// ---- Native functions --------------------------------------------------------------------------

jbyteArray Version(JNIEnv* env, jclass) {
  return Guarded(env, [&]() -> Result<jbyteArray> {
    SPIRLOOM_TRY_ASSIGN(Local<jbyteArray> text, NewBytes(env, spirloom_version()));
    return text.Release();
  });
}

jboolean IsAvailable(JNIEnv*, jclass) { return spirloom_is_available() ? JNI_TRUE : JNI_FALSE; }

jobjectArray GetDevices(JNIEnv* env, jclass) {
  return Guarded(env, [&] { return ListDevices(env); });
}

void SetLogSink(JNIEnv* env, jclass, jobject sink) {
  GuardedCall(env, [&] {
    SetLog(env, sink);
    return Status();
  });
}

jlong CreateRuntime(JNIEnv* env, jclass, jbyteArray device, jobjectArray libraries,
                    jbyteArray cache, jlongArray numbers) {
  return Guarded(env, [&] { return Create(env, device, libraries, cache, numbers); });
}

void DestroyRuntime(JNIEnv*, jclass, jlong runtime) {
  spirloom_runtime_destroy(Pointer<spirloom_runtime>(runtime));
}

jobjectArray RuntimeDevice(JNIEnv* env, jclass, jlong runtime) {
  return Guarded(env, [&]() -> Result<jobjectArray> {
    spirloom_device_info info = SPIRLOOM_INIT(spirloom_device_info);
    spirloom_error* error = nullptr;
    spirloom_runtime_device(Pointer<spirloom_runtime>(runtime), &info, &error);
    SPIRLOOM_TRY(Take(error));
    SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> fields, NewDevice(env, info));
    return fields.Release();
  });
}

jobjectArray RuntimeOperators(JNIEnv* env, jclass, jlong handle) {
  return Guarded(env, [&]() -> Result<jobjectArray> {
    const auto* runtime = Pointer<spirloom_runtime>(handle);
    std::vector<const char*> names(spirloom_runtime_operator_count(runtime));
    for (size_t i = 0; i < names.size(); ++i) names[i] = spirloom_runtime_operator(runtime, i);
    SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> array, NewTexts(env, names));
    return array.Release();
  });
}

jlongArray RuntimeMemory(JNIEnv* env, jclass, jlong runtime) {
  return Guarded(env, [&]() -> Result<jlongArray> {
    spirloom_memory_stats stats = SPIRLOOM_INIT(spirloom_memory_stats);
    spirloom_error* error = nullptr;
    spirloom_runtime_memory(Pointer<spirloom_runtime>(runtime), &stats, &error);
    SPIRLOOM_TRY(Take(error));
    const std::array values = {static_cast<int64_t>(stats.in_use), static_cast<int64_t>(stats.peak),
                               static_cast<int64_t>(stats.limit), static_cast<int64_t>(stats.free)};
    SPIRLOOM_TRY_ASSIGN(Local<jlongArray> array, NewLongs(env, values));
    return array.Release();
  });
}

}  // namespace

std::span<const JNINativeMethod> RuntimeFunctions() {
  static const std::array functions = {
      Entry("version", "()[B", Version),
      Entry("isAvailable", "()Z", IsAvailable),
      Entry("devices", "()[[Ljava/lang/Object;", GetDevices),
      Entry("setLog", "(Lorg/spirloom/Native$LogSink;)V", SetLogSink),
      Entry("createRuntime", "([B[[B[B[J)J", CreateRuntime),
      Entry("destroyRuntime", "(J)V", DestroyRuntime),
      Entry("runtimeDevice", "(J)[Ljava/lang/Object;", RuntimeDevice),
      Entry("runtimeOperators", "(J)[[B", RuntimeOperators),
      Entry("runtimeMemory", "(J)[J", RuntimeMemory),
  };
  return functions;
}

}  // namespace spirloom::java
