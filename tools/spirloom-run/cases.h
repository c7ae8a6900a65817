// Test cases in a graph file: inputs and expected outputs.
//
// They are attachments in .npy format, with the names cases/<number>/inputs/<name of the input> and
// cases/<number>/outputs/<name of the output>, numbered from 0. Every case has all inputs and at
// least one output of the file's first method. States start with their initial values.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_CASES_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_CASES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "spirloom/model.h"
#include "tools/spirloom-run/npy.h"

namespace spirloom::run {

struct BundledCase {
  std::vector<Array> inputs;                       // in the order of the model
  std::vector<std::pair<size_t, Array>> expected;  // by the index of the output
};

// The cases of a file. Fails with kInvalidFile for a missing input or number, an unknown name, and
// an array with another dtype or, without `dynamic_shapes`, another shape than the tensor, and with
// kInvalidArgument for a value outside the bounds of an input. The message names the attachment.
Result<std::vector<BundledCase>> CasesOf(std::span<const Attachment> attachments,
                                         std::span<const TensorInfo> inputs,
                                         std::span<const TensorInfo> outputs, bool dynamic_shapes);

// The allowed error of an element y: atol + rtol * |y|. By default: float32 1e-4 and 1e-5, float16
// 4e-3 and 1e-3, shorter floats 3e-2 and 3e-2, integers and bools 0.
struct Tolerance {
  std::optional<double> rtol;
  std::optional<double> atol;
};

// The tolerance with the default for each absent value.
Tolerance WithDefaults(const Tolerance& tolerance, DType dtype);

struct OutputCheck {
  bool passed = false;
  size_t failures = 0;     // elements above the tolerance
  double max_error = 0.0;  // infinity if one of two elements is not finite
};

// Compares an output with the expected array, of `expected.bytes.size()` bytes. Two NaNs are equal.
OutputCheck CheckOutput(const Array& expected, std::span<const std::byte> found,
                        const Tolerance& tolerance);

// One line: "case 0, output 'y': passed, max error 1.2e-07".
std::string Describe(size_t case_index, const std::string& output, const OutputCheck& check,
                     size_t elements);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_CASES_H_
