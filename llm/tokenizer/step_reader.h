// Reads the normalizer, pre-tokenizer and decoder of tokenizer.json.
#ifndef SPIRLOOM_LLM_TOKENIZER_STEP_READER_H_
#define SPIRLOOM_LLM_TOKENIZER_STEP_READER_H_

#include <vector>

#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/json_fields.h"
#include "llm/tokenizer/steps.h"

namespace spirloom::llm {

// Append the steps of `value`, which may be null. Fail with kUnsupported, with the type in the
// message, for an unsupported step.
Status ReadNormalizer(const Json* value, std::vector<Normalizer>& steps);
Status ReadPreTokenizer(const Json* value, std::vector<PreTokenizer>& steps);
Status ReadDecoder(const Json* value, Decoder& decoder);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_STEP_READER_H_
