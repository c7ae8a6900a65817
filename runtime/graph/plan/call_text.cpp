#include "runtime/graph/plan/call_text.h"

#include <cstdio>
#include <cstdlib>
#include <span>

#include "runtime/base/text.h"

namespace spirloom::graph {
namespace {

template <typename List, typename Text>
std::string JoinText(const List& list, const char* separator, Text text) {
  std::string joined;
  for (const auto& element : list) {
    if (!joined.empty()) joined += separator;
    joined += text(element);
  }
  return joined;
}

std::string ValuesText(std::span<const int64_t> values) {
  return JoinText(values, ",", [](int64_t value) { return std::to_string(value); });
}

std::string IntsText(std::span<const int64_t> ints) { return Format("[{}]", ValuesText(ints)); }

std::string TensorText(const PlanTensor& tensor) {
  return Concat(tensor.is_constant ? "const " : "", ShortName(tensor.desc.dtype),
                IntsText(tensor.desc.shape));
}

// Returns a short text that parses to the same value. std::to_chars() would add tables of 170 kB.
std::string FloatText(double value) {
  char text[32];
  for (const int digits : {15, 16, 17}) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

// Quotes a string. Nonprintable bytes, quotes and backslashes become \xx in hexadecimal.
std::string QuotedText(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char character : text) {
    const auto byte = static_cast<uint8_t>(character);
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
      quoted += character;
    } else {
      quoted += {'\\', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return quoted + '"';
}

std::string ArgText(const Arg& arg, const std::deque<PlanTensor>& tensors) {
  const auto tensor = [&](uint32_t index) { return TensorText(tensors[index]); };
  switch (arg.kind) {
    case ArgKind::kNone:
      return "none";
    case ArgKind::kTensor:
      return JoinText(arg.tensors, ", ", tensor);
    case ArgKind::kTensorList:
      return Format("[{}]", JoinText(arg.tensors, ", ", tensor));
    case ArgKind::kInt:
    case ArgKind::kBool:
      return ValuesText(arg.ints);
    case ArgKind::kInts:
      return IntsText(arg.ints);
    case ArgKind::kFloat:
      return FloatText(arg.f);
    case ArgKind::kString:
      return QuotedText(arg.s);
  }
  return {};
}

}  // namespace

std::string CallText(const ops::OpInfo& op, std::span<const Arg> args,
                     const std::deque<PlanTensor>& tensors, Storage storage) {
  const auto text = [&](const Arg& arg) { return ArgText(arg, tensors); };
  return Format("{}({}) in {}", op.name, JoinText(args, ", ", text), Name(storage));
}

std::string_view TunedKernel(const session::TunedKernels* tuned, const ops::OpInfo& op,
                             std::span<const Arg> args, const std::deque<PlanTensor>& tensors,
                             Storage storage) {
  if (tuned == nullptr || tuned->empty() || op.kernels.size() < 2) return {};
  const auto found = tuned->find(CallText(op, args, tensors, storage));
  return found == tuned->end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace spirloom::graph
