#include "tools/spirloom-run/inputs.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "runtime/base/text.h"
#include "tools/common/random.h"
#include "tools/spirloom-run/narrow.h"

namespace spirloom::run {
namespace {

Status Invalid(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

std::string Describe(DType dtype, const Shape& shape) {
  return std::string(LongName(dtype)) + " " + ToString(shape);
}

std::string DescribeFile(const Array& array) {
  if (array.converted_from.empty()) return Describe(array.dtype, array.shape);
  return std::string(array.converted_from) + " " + ToString(array.shape);
}

std::string ListOf(std::span<const TensorInfo> inputs) {
  std::string text;
  for (const TensorInfo& input : inputs) {
    text += "\n  " + Quote(input.name) + " " + std::string(LongName(input.dtype)) + " [" +
            Join(input.dims, ", ") + "]";
  }
  return text.empty() ? " The model has no inputs." : " The model's inputs are:" + text;
}

Status CheckArray(const TensorInfo& expected, const NamedFile& file, const Array& array,
                  bool dynamic_shapes) {
  if (array.dtype == expected.dtype && (dynamic_shapes || array.shape == expected.shape)) {
    return CheckBounds(array, expected.min, expected.max)
        .While("reading " + file.path + " for input " + Quote(expected.name));
  }
  return Invalid("File '" + file.path + "' contains " + DescribeFile(array) + "; input " +
                 Quote(expected.name) + " requires " + Describe(expected.dtype, expected.shape) +
                 ".");
}

Array RandomArray(const TensorInfo& input, std::mt19937_64& generator) {
  Array array{input.dtype, input.shape, std::vector<std::byte>(input.size)};
  tools::FillRandom(input, generator, array.bytes);
  return array;
}

}  // namespace

Result<std::vector<Array>> ReadInputs(std::span<const TensorInfo> expected,
                                      std::span<const NamedFile> files, bool dynamic_shapes,
                                      std::optional<uint64_t> seed) {
  std::vector<std::optional<Array>> arrays(expected.size());
  for (const NamedFile& file : files) {
    const auto found = std::find_if(expected.begin(), expected.end(), [&](const TensorInfo& input) {
      return input.name == file.name;
    });
    if (found == expected.end()) {
      return Invalid("The model has no input " + Quote(file.name) + "." + ListOf(expected));
    }
    std::optional<Array>& array = arrays[static_cast<size_t>(found - expected.begin())];
    if (array) return Invalid("Input " + Quote(file.name) + " is specified twice.");
    SPIRLOOM_TRY_ASSIGN(array, ReadNpy(file.path));
    SPIRLOOM_TRY(CheckArray(*found, file, *array, dynamic_shapes));
  }
  std::vector<Array> result;
  std::mt19937_64 generator(seed.value_or(0));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!arrays[i] && seed) arrays[i] = RandomArray(expected[i], generator);
    if (!arrays[i]) {
      return Invalid("Input " + Quote(expected[i].name) + " is missing. Add --input " +
                     expected[i].name + "=FILE.npy or --random." + ListOf(expected));
    }
    result.push_back(std::move(*arrays[i]));
  }
  return result;
}

}  // namespace spirloom::run
