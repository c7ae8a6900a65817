// Log messages of the runtime in Java.
#ifndef SPIRLOOM_INTEGRATIONS_JAVA_JNI_LOG_H_
#define SPIRLOOM_INTEGRATIONS_JAVA_JNI_LOG_H_

#include <jni.h>

#include "spirloom/spirloom.h"

namespace spirloom::java {

// Passes a message to the Java receiver, which may be called by any thread. Without one, writes it
// to Android's log; elsewhere writes errors to stderr and discards other messages. A callback of
// spirloom_runtime_options.
void Log(spirloom_log_level level, const char* message, void* data);

// Sets the receiver, a Native.LogSink; null: none.
void SetLog(JNIEnv* env, jobject sink);

}  // namespace spirloom::java

#endif  // SPIRLOOM_INTEGRATIONS_JAVA_JNI_LOG_H_
