#include "integrations/java/jni/support.h"

#include "runtime/base/error.h"

namespace spirloom::java {
namespace {

Classes loaded;
JavaVM* current_machine = nullptr;

// Returns a global reference to a class; null with a pending exception if it does not exist.
jclass FindGlobal(JNIEnv* env, const char* name) {
  const Local<jclass> found(env, env->FindClass(name));
  if (found.get() == nullptr) return nullptr;
  return static_cast<jclass>(env->NewGlobalRef(found.get()));
}

jmethodID FindMethod(JNIEnv* env, const char* owner, const char* name, const char* type) {
  const Local<jclass> found(env, env->FindClass(owner));
  if (found.get() == nullptr) return nullptr;
  return env->GetMethodID(found.get(), name, type);
}

// The private field of java.io.FileDescriptor: `fd` in OpenJDK, `descriptor` in Android.
jfieldID FindDescriptor(JNIEnv* env) {
  const Local<jclass> found(env, env->FindClass("java/io/FileDescriptor"));
  if (found.get() == nullptr) return nullptr;
  if (jfieldID field = env->GetFieldID(found.get(), "fd", "I")) return field;
  env->ExceptionClear();
  return env->GetFieldID(found.get(), "descriptor", "I");
}

}  // namespace

const Classes& classes() { return loaded; }

bool LoadClasses(JNIEnv* env) {
  return (loaded.bytes = FindGlobal(env, "[B")) && (loaded.byte_arrays = FindGlobal(env, "[[B")) &&
         (loaded.longs = FindGlobal(env, "[J")) &&
         (loaded.object = FindGlobal(env, "java/lang/Object")) &&
         (loaded.objects = FindGlobal(env, "[Ljava/lang/Object;")) &&
         (loaded.exception = FindGlobal(env, "org/spirloom/SpirloomException")) &&
         (loaded.new_exception = env->GetMethodID(loaded.exception, "<init>", "(I[B)V")) &&
         (loaded.on_message =
              FindMethod(env, "org/spirloom/Native$LogSink", "onMessage", "(I[B)V")) &&
         (loaded.on_text = FindMethod(env, "org/spirloom/Native$TextSink", "onText", "([B)Z")) &&
         (loaded.descriptor = FindDescriptor(env));
}

JavaVM* machine() { return current_machine; }
void SetMachine(JavaVM* machine) { current_machine = machine; }

Status Pending() { return Status::OutOfMemory(); }

void Throw(JNIEnv* env, const Status& status) noexcept {
  if (env->ExceptionCheck()) return;
  std::string_view text = status.message();
  if (text.empty()) text = "An unexpected C++ exception was thrown.";
  const auto size = static_cast<jsize>(text.size());
  const Local<jbyteArray> message(env, env->NewByteArray(size));
  if (message.get() == nullptr) return;  // an OutOfMemoryError is pending
  env->SetByteArrayRegion(message.get(), 0, size, reinterpret_cast<const jbyte*>(text.data()));
  const Local<jobject> exception(
      env, env->NewObject(loaded.exception, loaded.new_exception, static_cast<jint>(status.code()),
                          message.get()));
  if (exception.get() != nullptr) env->Throw(static_cast<jthrowable>(exception.get()));
}

Status Take(spirloom_error* error) {
  if (error == nullptr) return Status();
  Status status(static_cast<StatusCode>(spirloom_error_status(error)),
                spirloom_error_message(error));
  spirloom_error_destroy(error);
  return status;
}

Result<std::string> ReadText(JNIEnv* env, const char* name, jbyteArray bytes) {
  if (bytes == nullptr) {
    return Error(StatusCode::kInvalidArgument, "Argument '{}' is null.", name);
  }
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()),
                          reinterpret_cast<jbyte*>(text.data()));
  if (env->ExceptionCheck()) return Pending();
  return text;
}

Result<std::string> ReadName(JNIEnv* env, const char* name, jbyteArray bytes) {
  SPIRLOOM_TRY_ASSIGN(std::string text, ReadText(env, name, bytes));
  if (const size_t nul = text.find('\0'); nul != std::string::npos) {
    return Error(StatusCode::kInvalidArgument, "Argument '{}' contains a NUL, after {}.", name,
                 Quote(text.substr(0, nul)));
  }
  return text;
}

Result<std::vector<std::string>> ReadNames(JNIEnv* env, const char* name, jobjectArray texts) {
  if (texts == nullptr) {
    return Error(StatusCode::kInvalidArgument, "Argument '{}' is null.", name);
  }
  std::vector<std::string> read;
  for (jsize i = 0; i < env->GetArrayLength(texts); ++i) {
    const Local<jobject> element(env, env->GetObjectArrayElement(texts, i));
    if (env->ExceptionCheck()) return Pending();
    SPIRLOOM_TRY_ASSIGN(std::string text,
                        ReadName(env, name, static_cast<jbyteArray>(element.get())));
    read.push_back(std::move(text));
  }
  return read;
}

Result<std::vector<jlong>> ReadLongs(JNIEnv* env, const char* name, jlongArray array,
                                     size_t count) {
  const size_t length = array == nullptr ? 0 : static_cast<size_t>(env->GetArrayLength(array));
  if (array == nullptr || length != count) {
    return Error(StatusCode::kInvalidArgument, "Argument '{}' has {} elements; expected {}.", name,
                 length, count);
  }
  std::vector<jlong> values(count);
  env->GetLongArrayRegion(array, 0, static_cast<jsize>(count), values.data());
  if (env->ExceptionCheck()) return Pending();
  return values;
}

Result<DirectBuffer> ReadBuffer(JNIEnv* env, jobject buffer, jint width) {
  const jlong capacity = buffer == nullptr ? -1 : env->GetDirectBufferCapacity(buffer);
  void* data = buffer == nullptr ? nullptr : env->GetDirectBufferAddress(buffer);
  if (capacity < 0 || (data == nullptr && capacity > 0) || width < 1) {
    return Error(StatusCode::kInvalidArgument, "A buffer is null or not direct.");
  }
  return DirectBuffer{data, static_cast<size_t>(capacity) * static_cast<size_t>(width)};
}

Result<Local<jbyteArray>> NewBytes(JNIEnv* env, std::string_view text) {
  const auto size = static_cast<jsize>(text.size());
  Local<jbyteArray> bytes(env, env->NewByteArray(size));
  if (bytes.get() == nullptr) return Pending();
  env->SetByteArrayRegion(bytes.get(), 0, size, reinterpret_cast<const jbyte*>(text.data()));
  return bytes;
}

Result<Local<jobjectArray>> NewTexts(JNIEnv* env, std::span<const char* const> texts) {
  SPIRLOOM_TRY_ASSIGN(Local<jobjectArray> array, NewArray(env, texts.size(), loaded.bytes));
  for (size_t i = 0; i < texts.size(); ++i) {
    SPIRLOOM_TRY(Store(env, array, i, NewBytes(env, texts[i] == nullptr ? "" : texts[i])));
  }
  return array;
}

Result<Local<jlongArray>> NewLongs(JNIEnv* env, std::span<const int64_t> values) {
  const auto count = static_cast<jsize>(values.size());
  Local<jlongArray> array(env, env->NewLongArray(count));
  if (array.get() == nullptr) return Pending();
  static_assert(sizeof(jlong) == sizeof(int64_t));
  env->SetLongArrayRegion(array.get(), 0, count, reinterpret_cast<const jlong*>(values.data()));
  return array;
}

Result<Local<jobjectArray>> NewArray(JNIEnv* env, size_t count, jclass element) {
  Local<jobjectArray> array(
      env, env->NewObjectArray(static_cast<jsize>(count), element, /*initialElement=*/nullptr));
  if (array.get() == nullptr) return Pending();
  return array;
}

}  // namespace spirloom::java
