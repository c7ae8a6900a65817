#include "tests/ops/case_data.h"

#include <cstring>
#include <utility>

#include "tests/ops/compare.h"

namespace spirloom::testing {

Status CaseFailure(std::string message) {
  return Status(StatusCode::kInternal, std::move(message));
}

std::span<const std::byte> DataOf(const schema::CaseTensor& tensor) {
  if (tensor.data() == nullptr) return {};
  return std::as_bytes(std::span(tensor.data()->data(), tensor.data()->size()));
}

Shape ShapeOf(const schema::CaseTensor& tensor) {
  if (tensor.shape() == nullptr || tensor.shape()->size() == 0) return {};
  // memcpy, because FlatBuffers' verifier accepts unaligned elements.
  Shape shape(tensor.shape()->size());
  std::memcpy(shape.data(), tensor.shape()->Data(), shape.size() * sizeof(shape[0]));
  return shape;
}

std::span<const std::byte> GraphOf(const schema::Case& test) {
  return std::as_bytes(std::span(test.graph()->data(), test.graph()->size()));
}

std::vector<std::span<const std::byte>> InputsOf(const schema::Case& test) {
  std::vector<std::span<const std::byte>> inputs;
  for (const schema::CaseTensor* input : *test.inputs()) inputs.push_back(DataOf(*input));
  return inputs;
}

ModelOptions OptionsOf(const schema::Case& test) {
  ModelOptions options{.storage = static_cast<Storage>(test.storage()), .kernels = {}};
  if (test.kernel() != nullptr) options.kernels.push_back(test.kernel()->str());
  return options;
}

CaseOutputs::CaseOutputs(const schema::Case& test) : case_(test) {
  for (const schema::CaseTensor* expected : *test.expected()) {
    bytes_.emplace_back(DataOf(*expected).size(), std::byte{0xFF});
  }
}

std::vector<std::span<std::byte>> CaseOutputs::spans() { return {bytes_.begin(), bytes_.end()}; }

Status CaseOutputs::Compare() const {
  std::string text;
  for (flatbuffers::uoffset_t i = 0; i < case_.expected()->size(); ++i) {
    const schema::CaseTensor& expected = *case_.expected()->Get(i);
    const schema::Tolerance& allowed = *case_.tolerances()->Get(i);
    const std::string difference = testing::Compare(
        static_cast<DType>(expected.dtype()), ShapeOf(expected), bytes_[i], DataOf(expected),
        {.rtol = allowed.rtol(), .atol = allowed.atol(), .signed_zero = allowed.signed_zero()});
    if (!difference.empty()) text += "Output " + expected.name()->str() + ": " + difference + "\n";
  }
  return text.empty() ? Status() : CaseFailure(std::move(text));
}

}  // namespace spirloom::testing
