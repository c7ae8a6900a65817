// Native functions of language models.
#include "llm/model/language_model.h"

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "integrations/java/jni/support.h"
#include "llm/model/attachment.h"
#include "llm/model/chat_config.h"
#include "llm/model/generate.h"
#include "llm/tokenizer/tokenizer.h"
#include "runtime/base/error.h"
#include "runtime/c/runtime.h"

namespace spirloom::java {
namespace {

// A language model with its text so far.
struct Session {
  llm::LanguageModel model;
  llm::Tokenizer tokenizer;
  llm::ChatConfig config;
  std::optional<int32_t> pending = std::nullopt;  // last token, which is not in the KV cache yet
};

Result<jlong> Load(JNIEnv* env, jlong runtime, jbyteArray path_bytes) {
  SPIRLOOM_TRY_ASSIGN(const std::string path, ReadName(env, "path", path_bytes));
  SPIRLOOM_TRY_ASSIGN(
      llm::LanguageModel model,
      llm::LanguageModel::Load(Pointer<const spirloom_runtime>(runtime)->runtime, path));
  const std::span<const Attachment> attachments = model.decode().attachments();
  SPIRLOOM_TRY_ASSIGN(const std::string_view tokenizer_json,
                      llm::FindAttachment(attachments, llm::kTokenizerName));
  SPIRLOOM_TRY_ASSIGN(llm::Tokenizer tokenizer, llm::Tokenizer::Parse(tokenizer_json));
  SPIRLOOM_TRY_ASSIGN(const std::string_view config_json,
                      llm::FindAttachment(attachments, llm::kChatConfigName));
  SPIRLOOM_TRY_ASSIGN(llm::ChatConfig config, llm::ParseChatConfig(config_json));
  return Handle(new Session{std::move(model), std::move(tokenizer), std::move(config)});
}

// Returns the tokens to append for a message of a conversation.
Result<std::vector<int32_t>> ChatTokens(const Session& session, const std::string& message,
                                        const std::string& system) {
  if (!session.config.chat) {
    return Error(StatusCode::kUnsupported,
                 "The graph file has no chat format: the model has no chat template, or one that "
                 "cannot be represented, which the import reports. Generate without chat.");
  }
  const llm::ChatFormatter& chat = *session.config.chat;
  std::string text = chat.assistant.suffix;
  if (session.model.position() == 0) {
    SPIRLOOM_TRY_ASSIGN(text, chat.Prologue(system));
  }
  return session.tokenizer.Encode(text + chat.UserTurn(message));
}

// Returns the tokens to append for a text; BOS begins a new context.
Result<std::vector<int32_t>> TextTokens(const Session& session, const std::string& text) {
  SPIRLOOM_TRY_ASSIGN(std::vector<int32_t> tokens, session.tokenizer.Encode(text));
  if (session.config.bos && session.model.position() == 0) {
    tokens.insert(tokens.begin(), *session.config.bos);
  }
  return tokens;
}

// Passes text to a Native.TextSink. Returns false if it stops the reply, or an exception is
// pending.
bool Pass(JNIEnv* env, jobject sink, std::string_view text) {
  const Result<Local<jbyteArray>> bytes = NewBytes(env, text);
  if (!bytes.ok()) return false;
  const jboolean more = env->CallBooleanMethod(sink, classes().on_text, bytes->get());
  return !env->ExceptionCheck() && more != JNI_FALSE;
}

Result<jdoubleArray> GenerateText(JNIEnv* env, Session& session, const std::string& prompt,
                                  const std::string& system, std::span<const jlong> numbers,
                                  const llm::Sampling& sampling, jobject sink) {
  const bool is_chat = numbers[3] != 0;
  SPIRLOOM_TRY_ASSIGN(std::vector<int32_t> tokens,
                      is_chat ? ChatTokens(session, prompt, system) : TextTokens(session, prompt));
  // A chat template writes EOS itself, and a text that continues has none.
  if (session.pending && !session.config.IsEos(*session.pending)) {
    tokens.insert(tokens.begin(), *session.pending);
  }
  SPIRLOOM_TRY(session.model.SetSampling(sampling));
  llm::TextStream stream(session.tokenizer, /*continuation=*/!is_chat);
  std::atomic<bool> stop = false;
  const auto on_token = [&](int32_t token) {
    const std::string text = session.config.IsEos(token) ? std::string() : stream.Add(token);
    if (!Pass(env, sink, text)) stop = true;
  };
  SPIRLOOM_TRY_ASSIGN(const llm::Reply reply,
                      llm::Generate(session.model, session.config, tokens,
                                    static_cast<size_t>(numbers[0]), on_token, &stop));
  session.pending = reply.tokens.back();
  if (env->ExceptionCheck()) return Pending();
  if (const std::string rest = stream.End(); !rest.empty()) Pass(env, sink, rest);
  if (env->ExceptionCheck()) return Pending();
  const std::array<jdouble, 5> values = {
      static_cast<jdouble>(reply.prompt_tokens), static_cast<jdouble>(reply.tokens.size()),
      static_cast<jdouble>(reply.stop), reply.first_seconds, reply.step_seconds};
  Local<jdoubleArray> array(env, env->NewDoubleArray(static_cast<jsize>(values.size())));
  if (array.get() == nullptr) return Pending();
  env->SetDoubleArrayRegion(array.get(), 0, static_cast<jsize>(values.size()), values.data());
  return array.Release();
}

// ---- Native functions --------------------------------------------------------------------------

jboolean HasLanguageModels(JNIEnv*, jclass) { return JNI_TRUE; }

jlong LoadLanguageModel(JNIEnv* env, jclass, jlong runtime, jbyteArray path) {
  return Guarded(env, [&] { return Load(env, runtime, path); });
}

void DestroyLanguageModel(JNIEnv*, jclass, jlong model) { delete Pointer<Session>(model); }

jlongArray LanguageModelInfo(JNIEnv* env, jclass, jlong handle) {
  return Guarded(env, [&]() -> Result<jlongArray> {
    const auto* session = Pointer<const Session>(handle);
    const std::array<int64_t, 3> values = {static_cast<int64_t>(session->model.context()),
                                           static_cast<int64_t>(session->model.position()),
                                           session->config.chat ? 1 : 0};
    SPIRLOOM_TRY_ASSIGN(Local<jlongArray> array, NewLongs(env, values));
    return array.Release();
  });
}

void ResetLanguageModel(JNIEnv* env, jclass, jlong handle) {
  GuardedCall(env, [&]() -> Status {
    auto* session = Pointer<Session>(handle);
    session->pending.reset();
    return session->model.Reset();
  });
}

jdoubleArray Generate(JNIEnv* env, jclass, jlong handle, jbyteArray prompt_bytes,
                      jbyteArray system_bytes, jlongArray number_array, jfloatArray sampling_array,
                      jobject sink) {
  return Guarded(env, [&]() -> Result<jdoubleArray> {
    SPIRLOOM_TRY_ASSIGN(const std::string prompt, ReadText(env, "prompt", prompt_bytes));
    SPIRLOOM_TRY_ASSIGN(const std::string system, ReadText(env, "system", system_bytes));
    SPIRLOOM_TRY_ASSIGN(const auto numbers, ReadLongs(env, "numbers", number_array, 4));
    std::array<jfloat, 2> floats = {};
    env->GetFloatArrayRegion(sampling_array, 0, static_cast<jsize>(floats.size()), floats.data());
    if (env->ExceptionCheck()) return Pending();
    const llm::Sampling sampling = {.temperature = floats[0],
                                    .top_k = static_cast<int32_t>(numbers[1]),
                                    .top_p = floats[1],
                                    .seed = static_cast<int32_t>(numbers[2])};
    return GenerateText(env, *Pointer<Session>(handle), prompt, system, numbers, sampling, sink);
  });
}

jintArray Encode(JNIEnv* env, jclass, jlong handle, jbyteArray text_bytes) {
  return Guarded(env, [&]() -> Result<jintArray> {
    SPIRLOOM_TRY_ASSIGN(const std::string text, ReadText(env, "text", text_bytes));
    SPIRLOOM_TRY_ASSIGN(const auto tokens, Pointer<const Session>(handle)->tokenizer.Encode(text));
    const auto count = static_cast<jsize>(tokens.size());
    Local<jintArray> array(env, env->NewIntArray(count));
    if (array.get() == nullptr) return Pending();
    env->SetIntArrayRegion(array.get(), 0, count, tokens.data());
    return array.Release();
  });
}

jbyteArray Decode(JNIEnv* env, jclass, jlong handle, jintArray token_array) {
  return Guarded(env, [&]() -> Result<jbyteArray> {
    std::vector<jint> tokens(static_cast<size_t>(env->GetArrayLength(token_array)));
    env->GetIntArrayRegion(token_array, 0, static_cast<jsize>(tokens.size()), tokens.data());
    if (env->ExceptionCheck()) return Pending();
    const std::string text = Pointer<const Session>(handle)->tokenizer.Decode(tokens);
    SPIRLOOM_TRY_ASSIGN(Local<jbyteArray> bytes, NewBytes(env, text));
    return bytes.Release();
  });
}

}  // namespace

std::span<const JNINativeMethod> LanguageModelFunctions() {
  static const std::array functions = {
      Entry("hasLanguageModels", "()Z", HasLanguageModels),
      Entry("loadLanguageModel", "(J[B)J", LoadLanguageModel),
      Entry("destroyLanguageModel", "(J)V", DestroyLanguageModel),
      Entry("languageModelInfo", "(J)[J", LanguageModelInfo),
      Entry("resetLanguageModel", "(J)V", ResetLanguageModel),
      Entry("generate", "(J[B[B[J[FLorg/spirloom/Native$TextSink;)[D", Generate),
      Entry("encode", "(J[B)[I", Encode),
      Entry("decode", "(J[I)[B", Decode),
  };
  return functions;
}

}  // namespace spirloom::java
