#include "llm/model/language_model.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

Status NotALanguageModel(std::string_view reason) {
  return InvalidFile(
      "The file is not a language model: {}. Import a Hugging Face directory: spirloom import "
      "DIRECTORY -o MODEL.slg.",
      reason);
}

// Returns the index of the state of this name, type and rank 1.
Result<size_t> FindState(const Model& model, std::string_view name, DType dtype = DType::kI32) {
  const std::span<const TensorInfo> states = model.states();
  const auto found = std::ranges::find(states, name, &TensorInfo::name);
  if (found == states.end() || found->dtype != dtype || found->shape.size() != 1 ||
      found->shape[0] < 1) {
    return NotALanguageModel(Format("it has no state {} of type {}", Quote(name), LongName(dtype)));
  }
  return static_cast<size_t>(found - states.begin());
}

// The states besides the KV cache.
constexpr std::string_view kSharedStates[] = {"position", "token", "tokens", "temperature",
                                              "top_k",    "top_p", "seed"};

// Writes a state of one element.
template <typename T>
Status SetState(Model& model, std::string_view name, T value) {
  SPIRLOOM_TRY_ASSIGN(const size_t index,
                      FindState(model, name, std::is_same_v<T, float> ? DType::kF32 : DType::kI32));
  return model.WriteState(index, std::as_bytes(std::span(&value, 1)));
}

}  // namespace

Result<LanguageModel> LanguageModel::Load(const Runtime& runtime, const std::string& path) {
  ModelOptions options;
  options.method = "prefill";
  options.max_cached_shapes = 32;  // NextChunk() uses fewer
  SPIRLOOM_TRY_ASSIGN(Model prefill, Model::Load(runtime, path, options));
  Result<Model> decode = prefill.CreateContext({.method = "decode", .share_states = true});
  if (!decode.ok()) return std::move(decode).status().While(Concat("loading ", path));
  LanguageModel model(std::move(prefill), std::move(decode).value());
  SPIRLOOM_TRY_WHILE(model.ReadSignature(), "loading {}", path);
  return model;
}

Status LanguageModel::ReadSignature() {
  const std::span<const TensorInfo> inputs = prefill_.inputs();
  if (inputs.size() != 1 || inputs[0].dtype != DType::kI32 || inputs[0].shape.size() != 2 ||
      inputs[0].shape[0] != 1 || inputs[0].shape[1] < 1 || !decode_.inputs().empty()) {
    return NotALanguageModel(
        "'prefill' must have one int32 input [1, N] of tokens, and 'decode' no input");
  }
  for (const Model* model : {&prefill_, &decode_}) {
    const std::span<const TensorInfo> outputs = model->outputs();
    if (outputs.size() != 1 || outputs[0].dtype != DType::kF32 || outputs[0].size == 0) {
      return NotALanguageModel("each method must have one float32 output, the logits");
    }
    vocabulary_ = outputs[0].size / sizeof(float);
  }
  if (prefill_.outputs()[0].size != decode_.outputs()[0].size) {
    return NotALanguageModel("'prefill' and 'decode' return different numbers of logits");
  }
  SPIRLOOM_TRY_ASSIGN(token_state_, FindState(decode_, "token"));
  SPIRLOOM_TRY(FindState(decode_, "position").status());
  SPIRLOOM_TRY(SetSampling({}));
  SPIRLOOM_TRY_ASSIGN(tokens_state_, FindState(decode_, "tokens"));
  context_ = static_cast<size_t>(decode_.states()[tokens_state_].shape[0]);
  prefill_limits_ = {.max_prefill = static_cast<size_t>(prefill_.inputs()[0].shape[1]),
                     .context = context_,
                     .can_pad = HasRowPerToken()};
  return Status();
}

bool LanguageModel::HasRowPerToken() const {
  return std::ranges::all_of(decode_.states(), [this](const TensorInfo& state) {
    return std::ranges::find(kSharedStates, state.name) != std::end(kSharedStates) ||
           (state.shape.size() > 1 && state.shape[1] == static_cast<int64_t>(context_));
  });
}

Status LanguageModel::CheckContext(size_t count) const {
  if (count <= context_ - position_) return Status();
  return Error(StatusCode::kInvalidArgument,
               "The context has {} tokens: {} are in use, {} more are required. Import the model "
               "with a larger --context, or start a new conversation.",
               context_, position_, count);
}

Status LanguageModel::Prefill(std::span<const int32_t> tokens) {
  if (tokens.empty()) {
    return Error(StatusCode::kInvalidArgument, "The prompt is empty; expected at least one token.");
  }
  SPIRLOOM_TRY(CheckContext(tokens.size()));
  for (const int32_t token : tokens) {
    if (token >= 0 && static_cast<size_t>(token) < vocabulary_) continue;
    return Error(
        StatusCode::kInvalidArgument,
        "Token {} is outside the model's vocabulary of {} tokens. Use the tokenizer of this model.",
        token, vocabulary_);
  }
  const size_t start = position_;
  int32_t next = 0;
  SPIRLOOM_TRY(decode_.ReadState(token_state_, 0, std::as_writable_bytes(std::span(&next, 1))));
  Status status = PrefillChunks(tokens);
  // As if the call had not been made. A lost device has no state to restore.
  if (!status.ok() && position_ != start && status.code() != StatusCode::kDeviceLost) {
    if (const Status rewound = Rewind(start, next); !rewound.ok()) return rewound;
  }
  return status;
}

Status LanguageModel::PrefillChunks(std::span<const int32_t> tokens) {
  while (!tokens.empty()) {
    const PrefillChunk chunk = NextChunk(tokens.size(), position_, prefill_limits_);
    SPIRLOOM_TRY(chunk.length == 0 ? RunDecode(tokens[0])
                                   : RunPrefill(tokens.first(chunk.tokens), chunk.length));
    tokens = tokens.subspan(chunk.tokens);
  }
  steps_ = 1;
  return Status();
}

Status LanguageModel::RunPrefill(std::span<const int32_t> tokens, size_t length) {
  const Shape shape = {1, static_cast<int64_t>(length)};
  if (prefill_.inputs()[0].shape != shape) {
    SPIRLOOM_TRY(prefill_.Resize(std::span(&shape, 1)));
  }
  const std::span<std::byte> input = prefill_.InputBytes(0);
  std::memcpy(input.data(), tokens.data(), tokens.size_bytes());
  std::memset(input.data() + tokens.size_bytes(), 0, input.size() - tokens.size_bytes());
  SPIRLOOM_TRY(prefill_.Run());
  position_ += tokens.size();
  // The next run overwrites the rows of the padding.
  if (tokens.size() == length) return Status();
  return SetState(decode_, "position", static_cast<int32_t>(position_));
}

Status LanguageModel::RunDecode(int32_t token) {
  SPIRLOOM_TRY(SetState(decode_, "token", token));
  SPIRLOOM_TRY(decode_.Run());
  ++position_;
  return Status();
}

Status LanguageModel::Step(size_t steps) {
  SPIRLOOM_TRY(CheckContext(steps));
  SPIRLOOM_TRY_ASSIGN(PendingRun run, decode_.SubmitRepeated(steps));
  SPIRLOOM_TRY(run.Wait());
  position_ += steps;
  steps_ = steps;
  return Status();
}

Status LanguageModel::Rewind(size_t position, int32_t next) {
  assert(position <= position_);
  if (position < position_ && !prefill_limits_.can_pad) {
    return Error(StatusCode::kUnsupported,
                 "The model cannot return from token {} to token {}: its caches have no row for "
                 "each token, so earlier ones are overwritten. Reset the conversation.",
                 position_, position);
  }
  SPIRLOOM_TRY(SetState(decode_, "position", static_cast<int32_t>(position)));
  SPIRLOOM_TRY(SetState(decode_, "token", next));
  position_ = position;
  steps_ = 1;
  return Status();
}

Status LanguageModel::Reset() {
  SPIRLOOM_TRY(decode_.ResetStates());
  position_ = 0;
  steps_ = 1;
  return SetSampling({});
}

Result<std::vector<int32_t>> LanguageModel::sampled() const {
  std::vector<int32_t> tokens(steps_);
  // A full context has its last token only in `token`.
  const size_t stored = position_ == context_ ? steps_ - 1 : steps_;
  const size_t first = position_ + 1 - steps_;
  SPIRLOOM_TRY(decode_.ReadState(tokens_state_, first * sizeof(int32_t),
                                 std::as_writable_bytes(std::span(tokens).first(stored))));
  SPIRLOOM_TRY(decode_.ReadState(token_state_, /*offset=*/0,
                                 std::as_writable_bytes(std::span(tokens).subspan(stored))));
  return tokens;
}

Status LanguageModel::SetSampling(const Sampling& sampling) {
  SPIRLOOM_TRY(SetState(decode_, "temperature", sampling.temperature));
  SPIRLOOM_TRY(SetState(decode_, "top_k", sampling.top_k));
  SPIRLOOM_TRY(SetState(decode_, "top_p", sampling.top_p));
  return SetState(decode_, "seed", sampling.seed);
}

}  // namespace spirloom::llm
