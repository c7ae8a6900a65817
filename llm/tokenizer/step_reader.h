// Reads what tokenizer.json says of the steps before and after byte-pair encoding.
#ifndef SPIRLOOM_LLM_TOKENIZER_STEP_READER_H_
#define SPIRLOOM_LLM_TOKENIZER_STEP_READER_H_

#include <vector>

#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/json_fields.h"
#include "llm/tokenizer/steps.h"

namespace spirloom::llm {

// Append the steps of `value`, null for none. Fail with kUnsupported, naming it, for a step that is
// not supported.
Status ReadNormalizer(const Json* value, std::vector<Normalizer>& steps);
Status ReadPreTokenizer(const Json* value, std::vector<PreTokenizer>& steps);
Status ReadDecoder(const Json* value, Decoder& decoder);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_STEP_READER_H_
