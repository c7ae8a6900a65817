// Native functions of language models in a library without them: loading fails.
#include <array>

#include "integrations/java/jni/support.h"
#include "runtime/base/error.h"

namespace spirloom::java {
namespace {

jboolean HasLanguageModels(JNIEnv*, jclass) { return JNI_FALSE; }

jlong LoadLanguageModel(JNIEnv* env, jclass, jlong, jbyteArray) {
  return Guarded(env, [&]() -> Result<jlong> {
    return Error(StatusCode::kUnsupported,
                 "The native library was built without language models. Build it with PCRE2 and "
                 "utf8proc (page 'Run models from Java and on Android' of the documentation).");
  });
}

}  // namespace

std::span<const JNINativeMethod> LanguageModelFunctions() {
  static const std::array functions = {
      Entry("hasLanguageModels", "()Z", HasLanguageModels),
      Entry("loadLanguageModel", "(J[B)J", LoadLanguageModel),
  };
  return functions;
}

}  // namespace spirloom::java
