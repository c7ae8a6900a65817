#include "tools/spirloom-run/cases.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "runtime/base/data_types.h"
#include "runtime/base/elements.h"
#include "runtime/base/text.h"
#include "tools/spirloom-run/narrow.h"

namespace spirloom::run {
namespace {

constexpr std::string_view kPrefix = "cases/";
constexpr std::string_view kInputs = "inputs/";
constexpr std::string_view kOutputs = "outputs/";

// cases/<number>/(inputs|outputs)/<name>
struct CaseName {
  size_t number = 0;
  bool is_input = false;
  std::string_view tensor;
};

Status Invalid(const std::string& attachment, const std::string& reason) {
  return Status(StatusCode::kInvalidFile, "Attachment " + Quote(attachment) + " " + reason);
}

std::optional<CaseName> ParseName(std::string_view name) {
  name.remove_prefix(kPrefix.size());
  CaseName found;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), found.number);
  if (error != std::errc() || end == name.data() + name.size() || *end != '/') return std::nullopt;
  name.remove_prefix(static_cast<size_t>(end - name.data()) + 1);
  found.is_input = name.starts_with(kInputs);
  if (!found.is_input && !name.starts_with(kOutputs)) return std::nullopt;
  found.tensor = name.substr(found.is_input ? kInputs.size() : kOutputs.size());
  return found;
}

// A case whose inputs are not yet complete.
struct Draft {
  std::vector<std::optional<Array>> inputs;
  std::vector<std::pair<size_t, Array>> expected;
};

Status Add(const Attachment& attachment, const CaseName& name, std::span<const TensorInfo> tensors,
           bool dynamic_shapes, Draft& draft) {
  const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const TensorInfo& each) {
    return each.name == name.tensor;
  });
  if (tensor == tensors.end()) {
    return Invalid(attachment.name, std::string("is for an ") +
                                        (name.is_input ? "input" : "output") +
                                        " that the model does not have.");
  }
  Result<Array> array = ParseNpy(attachment.data);
  const std::string reading = "reading attachment " + Quote(attachment.name);
  if (!array.ok()) return std::move(array).status().While(reading);
  if (array->dtype != tensor->dtype || (!dynamic_shapes && array->shape != tensor->shape)) {
    return Invalid(attachment.name, Format("contains {} {}; the tensor is {} {}.",
                                           LongName(array->dtype), ToString(array->shape),
                                           LongName(tensor->dtype), ToString(tensor->shape)));
  }
  const auto index = static_cast<size_t>(tensor - tensors.begin());
  if (!name.is_input) {
    draft.expected.emplace_back(index, std::move(*array));
    return Status();
  }
  SPIRLOOM_TRY(CheckBounds(*array, tensor->min, tensor->max).While(reading));
  draft.inputs[index] = std::move(*array);
  return Status();
}

Result<BundledCase> Finished(Draft draft, size_t number, std::span<const TensorInfo> inputs) {
  const std::string prefix = std::string(kPrefix) + std::to_string(number);
  BundledCase finished;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!draft.inputs[i]) return Invalid(prefix + "/inputs/" + inputs[i].name, "is missing.");
    finished.inputs.push_back(std::move(*draft.inputs[i]));
  }
  if (draft.expected.empty()) return Invalid(prefix + "/outputs/…", "is missing.");
  finished.expected = std::move(draft.expected);
  return finished;
}

double DefaultRtol(DType dtype) {
  if (dtype == DType::kF32) return 1e-4;
  if (dtype == DType::kF16) return 4e-3;
  return InfoOf(dtype).kind == DTypeKind::kStoredFloat ? 3e-2 : 0.0;
}

double DefaultAtol(DType dtype) {
  if (dtype == DType::kF32) return 1e-5;
  if (dtype == DType::kF16) return 1e-3;
  return InfoOf(dtype).kind == DTypeKind::kStoredFloat ? 3e-2 : 0.0;
}

// 0 for equal elements, also infinities and NaNs; infinity if only one is finite.
double ErrorOf(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0.0;
  const double error = std::abs(found - expected);
  return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

}  // namespace

Result<std::vector<BundledCase>> CasesOf(std::span<const Attachment> attachments,
                                         std::span<const TensorInfo> inputs,
                                         std::span<const TensorInfo> outputs, bool dynamic_shapes) {
  std::vector<Draft> drafts;
  for (const Attachment& attachment : attachments) {
    if (!attachment.name.starts_with(kPrefix)) continue;
    const std::optional<CaseName> name = ParseName(attachment.name);
    // Each case has attachments, so that a larger number leaves one without any.
    if (!name || name->number >= attachments.size()) {
      return Invalid(attachment.name,
                     "is not cases/NUMBER/inputs/NAME or cases/NUMBER/outputs/NAME "
                     "with consecutive numbers from 0.");
    }
    while (drafts.size() <= name->number) {
      drafts.push_back({std::vector<std::optional<Array>>(inputs.size()), {}});
    }
    SPIRLOOM_TRY(Add(attachment, *name, name->is_input ? inputs : outputs, dynamic_shapes,
                     drafts[name->number]));
  }
  std::vector<BundledCase> cases;
  for (size_t i = 0; i < drafts.size(); ++i) {
    SPIRLOOM_TRY_ASSIGN(BundledCase finished, Finished(std::move(drafts[i]), i, inputs));
    cases.push_back(std::move(finished));
  }
  return cases;
}

Tolerance WithDefaults(const Tolerance& tolerance, DType dtype) {
  return {tolerance.rtol.value_or(DefaultRtol(dtype)), tolerance.atol.value_or(DefaultAtol(dtype))};
}

OutputCheck CheckOutput(const Array& expected, std::span<const std::byte> found,
                        const Tolerance& tolerance) {
  const size_t size = InfoOf(expected.dtype).size;
  const Tolerance allowances = WithDefaults(tolerance, expected.dtype);
  OutputCheck check;
  for (size_t at = 0; at < expected.bytes.size(); at += size) {
    const double y = LoadElement(expected.dtype, std::span(expected.bytes).subspan(at, size));
    const double error = ErrorOf(LoadElement(expected.dtype, found.subspan(at, size)), y);
    check.max_error = std::max(check.max_error, error);
    const bool allowed =
        std::isfinite(error) && error <= *allowances.atol + *allowances.rtol * std::abs(y);
    if (error > 0.0 && !allowed) ++check.failures;
  }
  check.passed = check.failures == 0;
  return check;
}

std::string Describe(size_t case_index, const std::string& output, const OutputCheck& check,
                     size_t elements) {
  char error[32];
  std::snprintf(error, sizeof error, "%.1e", check.max_error);
  std::string line = Format("case {}, output {}: {}, max error {}", std::to_string(case_index),
                            Quote(output), check.passed ? "passed" : "FAILED", error);
  if (!check.passed) {
    line += Format(", {} of {} elements above the tolerance", std::to_string(check.failures),
                   std::to_string(elements));
  }
  return line + "\n";
}

}  // namespace spirloom::run
