#include "integrations/java/jni/log.h"

#include <cstring>
#include <memory>
#include <mutex>

#include "integrations/java/jni/support.h"
#ifdef __ANDROID__
#include <android/log.h>
#else
#include <cstdio>
#endif

namespace spirloom::java {
namespace {

// The environment of this thread. Attaches a thread of the runtime or a driver to the virtual
// machine; it is detached at its end. Null if that fails.
JNIEnv* Environment() {
  void* environment = nullptr;
  if (machine()->GetEnv(&environment, JNI_VERSION_1_6) == JNI_OK) {
    return static_cast<JNIEnv*>(environment);
  }
#ifdef __ANDROID__
  JNIEnv* attached = nullptr;
  const jint status = machine()->AttachCurrentThreadAsDaemon(&attached, /*args=*/nullptr);
#else
  void* attached = nullptr;
  const jint status = machine()->AttachCurrentThreadAsDaemon(&attached, /*args=*/nullptr);
#endif
  if (status != JNI_OK) return nullptr;
  struct Detach {
    ~Detach() { machine()->DetachCurrentThread(); }
  };
  static thread_local const Detach at_end;
  (void)at_end;
  return static_cast<JNIEnv*>(attached);
}

// A global reference to the receiver.
class Receiver {
 public:
  explicit Receiver(jobject sink) : sink_(sink) {}
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() {
    if (JNIEnv* env = Environment()) env->DeleteGlobalRef(sink_);
  }
  jobject get() const { return sink_; }

 private:
  jobject sink_;
};

std::mutex mutex;
std::shared_ptr<const Receiver>& Current() {  // guarded by `mutex`; never destroyed
  static auto& current = *new std::shared_ptr<const Receiver>;
  return current;
}

void LogByDefault(spirloom_log_level level, const char* message) {
#ifdef __ANDROID__
  const int priority = level == SPIRLOOM_LOG_INFO      ? ANDROID_LOG_INFO
                       : level == SPIRLOOM_LOG_WARNING ? ANDROID_LOG_WARN
                                                       : ANDROID_LOG_ERROR;
  __android_log_write(priority, "spirloom", message);
#else
  if (level == SPIRLOOM_LOG_ERROR) std::fprintf(stderr, "spirloom: %s\n", message);
#endif
}

}  // namespace

void Log(spirloom_log_level level, const char* message, void*) {
  std::shared_ptr<const Receiver> receiver;
  {
    const std::lock_guard lock(mutex);
    receiver = Current();
  }
  JNIEnv* env = receiver == nullptr ? nullptr : Environment();
  if (env == nullptr) return LogByDefault(level, message);
  const Local<jthrowable> pending(env, env->ExceptionOccurred());  // of the interrupted function
  env->ExceptionClear();
  {
    const auto size = static_cast<jsize>(std::strlen(message));
    const Local<jbyteArray> bytes(env, env->NewByteArray(size));
    if (bytes.get() != nullptr) {
      env->SetByteArrayRegion(bytes.get(), 0, size, reinterpret_cast<const jbyte*>(message));
      env->CallVoidMethod(receiver->get(), classes().on_message, static_cast<jint>(level),
                          bytes.get());
    }
    env->ExceptionClear();
  }
  if (pending.get() != nullptr) env->Throw(pending.get());
}

void SetLog(JNIEnv* env, jobject sink) {
  std::shared_ptr<const Receiver> receiver;
  if (sink != nullptr) receiver = std::make_shared<const Receiver>(env->NewGlobalRef(sink));
  const std::lock_guard lock(mutex);
  Current().swap(receiver);
}

}  // namespace spirloom::java
