#include "runtime/c/run_bytes.h"

#include "runtime/c/error.h"

namespace spirloom::c {

Result<InputSpans> ReadInputs(const spirloom_const_bytes* inputs, size_t count, size_t expected) {
  SPIRLOOM_TRY(CheckArray("inputs", inputs, count));
  SPIRLOOM_TRY(CheckCount("input", count, expected));
  InputSpans spans;
  for (const spirloom_const_bytes& bytes : std::span(inputs, count)) {
    SPIRLOOM_TRY(CheckBytes("inputs", spans.size(), bytes.data, bytes.size));
    spans.emplace_back(static_cast<const std::byte*>(bytes.data), bytes.size);
  }
  return spans;
}

Result<OutputSpans> ReadOutputs(const spirloom_bytes* outputs, size_t count, size_t expected) {
  SPIRLOOM_TRY(CheckArray("outputs", outputs, count));
  SPIRLOOM_TRY(CheckCount("output", count, expected));
  OutputSpans spans;
  for (const spirloom_bytes& bytes : std::span(outputs, count)) {
    SPIRLOOM_TRY(CheckBytes("outputs", spans.size(), bytes.data, bytes.size));
    spans.emplace_back(static_cast<std::byte*>(bytes.data), bytes.size);
  }
  return spans;
}

}  // namespace spirloom::c
