// JNI_OnLoad(), the only exported function: registers the native functions of org.spirloom.Native.
#include "integrations/java/jni/support.h"

namespace spirloom::java {
namespace {

bool Register(JNIEnv* env) {
  if (!LoadClasses(env)) return false;
  const Local<jclass> native(env, env->FindClass("org/spirloom/Native"));
  if (native.get() == nullptr) return false;
  for (const std::span<const JNINativeMethod> functions :
       {RuntimeFunctions(), ModuleFunctions(), LanguageModelFunctions()}) {
    const auto count = static_cast<jint>(functions.size());
    if (env->RegisterNatives(native.get(), functions.data(), count) != JNI_OK) return false;
  }
  return true;
}

}  // namespace
}  // namespace spirloom::java

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  void* env = nullptr;
  if (machine->GetEnv(&env, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  spirloom::java::SetMachine(machine);
  return spirloom::java::Register(static_cast<JNIEnv*>(env)) ? JNI_VERSION_1_6 : JNI_ERR;
}
