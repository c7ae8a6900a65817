// Utilities of the native functions of org.spirloom.Native: errors, strings, arrays.
//
// A native function calls Guarded(), which throws a SpirloomException for an error Status. After a
// failed JNI call, a Java exception is pending already: the Status of Pending() keeps it.
#ifndef SPIRLOOM_INTEGRATIONS_JAVA_JNI_SUPPORT_H_
#define SPIRLOOM_INTEGRATIONS_JAVA_JNI_SUPPORT_H_

#include <jni.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "spirloom/spirloom.h"
#include "spirloom/status.h"

namespace spirloom::java {

// Classes and members of Java, as global references. Valid after JNI_OnLoad().
struct Classes {
  jclass bytes = nullptr;        // byte[]
  jclass byte_arrays = nullptr;  // byte[][]
  jclass longs = nullptr;        // long[]
  jclass object = nullptr;
  jclass objects = nullptr;  // Object[]
  jclass exception = nullptr;
  jmethodID new_exception = nullptr;  // SpirloomException(int, byte[])
  jmethodID on_message = nullptr;     // Native.LogSink.onMessage(int, byte[])
  jmethodID on_text = nullptr;        // Native.TextSink.onText(byte[])
  jfieldID descriptor = nullptr;      // the number of a java.io.FileDescriptor
};
const Classes& classes();

// Finds the classes. Returns false with a pending exception if one is missing.
bool LoadClasses(JNIEnv* env);

// The virtual machine that loaded the library.
JavaVM* machine();
void SetMachine(JavaVM* machine);

// A local reference, deleted by the destructor: loops must not accumulate local references.
template <typename T>
class Local {
 public:
  Local(JNIEnv* env, T value) : env_(env), value_(value) {}
  Local(Local&& other) noexcept : env_(other.env_), value_(std::exchange(other.value_, nullptr)) {}
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  ~Local() {
    if (value_ != nullptr) env_->DeleteLocalRef(value_);
  }

  T get() const { return value_; }
  T Release() { return std::exchange(value_, nullptr); }

 private:
  JNIEnv* env_;
  T value_;
};

// The status of a failed JNI call, whose exception is pending.
Status Pending();

// Throws a SpirloomException, unless an exception is pending.
void Throw(JNIEnv* env, const Status& status) noexcept;

// Returns the value of `body`, a Result. Throws its error and returns 0 or null otherwise. No C++
// exception leaves it.
template <typename Body>
auto Guarded(JNIEnv* env, const Body& body) noexcept {
  using Value = std::remove_cvref_t<decltype(*body())>;
  Status failure;
  try {
    auto result = body();
    if (result.ok()) return std::move(result).value();
    failure = std::move(result).status();
  } catch (const std::bad_alloc&) {
    failure = Status::OutOfMemory();
  } catch (...) {
    failure = Status(StatusCode::kInternal, {});
  }
  Throw(env, failure);
  return Value{};
}

// Guarded() for a `body` that returns a Status.
template <typename Body>
void GuardedCall(JNIEnv* env, const Body& body) noexcept {
  Guarded(env, [&]() -> Result<bool> {
    SPIRLOOM_TRY(body());
    return true;
  });
}

// The Status of a call of the C API; destroys `error`.
Status Take(spirloom_error* error);

// Handles are addresses of native objects.
template <typename T>
T* Pointer(jlong handle) {
  return reinterpret_cast<T*>(static_cast<intptr_t>(handle));
}
inline jlong Handle(const void* pointer) {
  return static_cast<jlong>(reinterpret_cast<intptr_t>(pointer));
}

// ---- From Java ---------------------------------------------------------------------------------

// Returns the text of UTF-8 bytes. Fails with kInvalidArgument if the argument `name` is null.
Result<std::string> ReadText(JNIEnv* env, const char* name, jbyteArray bytes);
// Returns a name or path, for C strings. Fails with kInvalidArgument also if it contains a NUL.
Result<std::string> ReadName(JNIEnv* env, const char* name, jbyteArray bytes);
// Returns all names of an array.
Result<std::vector<std::string>> ReadNames(JNIEnv* env, const char* name, jobjectArray texts);
// Returns the elements of an array. Fails with kInvalidArgument unless it has `count` elements.
Result<std::vector<jlong>> ReadLongs(JNIEnv* env, const char* name, jlongArray array, size_t count);

// A direct buffer.
struct DirectBuffer {
  void* data = nullptr;
  size_t size = 0;  // bytes
};
// Returns the memory of a direct buffer with elements of `width` bytes, valid as long as the Java
// object. Fails with kInvalidArgument if it is null or not direct.
Result<DirectBuffer> ReadBuffer(JNIEnv* env, jobject buffer, jint width);

// ---- To Java -----------------------------------------------------------------------------------

// Return new objects, or Pending().
Result<Local<jbyteArray>> NewBytes(JNIEnv* env, std::string_view text);
Result<Local<jobjectArray>> NewTexts(JNIEnv* env, std::span<const char* const> texts);
Result<Local<jlongArray>> NewLongs(JNIEnv* env, std::span<const int64_t> values);
Result<Local<jobjectArray>> NewArray(JNIEnv* env, size_t count, jclass element);
// Stores an element, and deletes the local reference.
template <typename T>
Status Store(JNIEnv* env, const Local<jobjectArray>& array, size_t i, Result<Local<T>> element) {
  if (!element.ok()) return std::move(element).status();
  env->SetObjectArrayElement(array.get(), static_cast<jsize>(i), element->get());
  return env->ExceptionCheck() ? Pending() : Status();
}

// ---- Native functions --------------------------------------------------------------------------

// An entry of a table of native functions; `type` is the JNI signature.
template <typename Function>
JNINativeMethod Entry(const char* name, const char* type, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(type), reinterpret_cast<void*>(function)};
}

std::span<const JNINativeMethod> RuntimeFunctions();
std::span<const JNINativeMethod> ModuleFunctions();
std::span<const JNINativeMethod> LanguageModelFunctions();

}  // namespace spirloom::java

#endif  // SPIRLOOM_INTEGRATIONS_JAVA_JNI_SUPPORT_H_
