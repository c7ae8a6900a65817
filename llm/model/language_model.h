// A language model on a device: the methods `prefill` and `decode` of a graph file.
#ifndef SPIRLOOM_LLM_MODEL_LANGUAGE_MODEL_H_
#define SPIRLOOM_LLM_MODEL_LANGUAGE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "llm/model/sampling.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// Thread safety: one call at a time.
class LanguageModel {
 public:
  // Loads both methods over the same weights and states. Fails as Model::Load(), and with
  // kInvalidFile for a file that is no language model.
  static Result<LanguageModel> Load(const Runtime& runtime, const std::string& path);

  // How many tokens it can look back at, how many of them there are, and how many different ones.
  size_t context() const { return context_; }
  size_t position() const { return position_; }
  size_t vocabulary() const { return vocabulary_; }

  // Reads tokens, in runs as large as the model takes, and chooses the next one. Fails with
  // kInvalidArgument, having read none, for more than the context has room for, and for a token
  // that is none.
  Status Read(std::span<const int32_t> tokens);
  // Reads the chosen token and chooses the next one, `steps` times in one submission, so that the
  // device does not wait for the host in between. Fails with kInvalidArgument, having read none, if
  // the context has no room for them.
  Status Step(size_t steps = 1);
  // Goes back to when `position` tokens had been read, and `chosen` been chosen as the next one.
  Status Rewind(size_t position, int32_t chosen);

  // How runs choose from now on; at first the token of the greatest score.
  Status SetSampling(const Sampling& sampling);
  // The tokens that the last run chose, one for each of its steps.
  Result<std::vector<int32_t>> chosen() const;

  const Model& prefill() const { return prefill_; }
  const Model& decode() const { return decode_; }

 private:
  LanguageModel(Model prefill, Model decode)
      : prefill_(std::move(prefill)), decode_(std::move(decode)) {}
  Status Describe();
  Status ReadRun(std::span<const int32_t> tokens);
  Status CheckRoom(size_t count) const;

  Model prefill_;
  Model decode_;
  size_t context_ = 0;
  size_t vocabulary_ = 0;
  size_t longest_ = 0;  // run of prefill
  size_t position_ = 0;
  size_t steps_ = 1;  // of the last run
  size_t token_state_ = 0;
  size_t tokens_state_ = 0;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_LANGUAGE_MODEL_H_
