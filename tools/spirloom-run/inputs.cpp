#include "tools/spirloom-run/inputs.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "runtime/graph/file/graph.h"
#include "tools/common/random.h"
#include "tools/spirloom-run/narrow.h"

namespace spirloom::run {
namespace {

Status Wrong(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}

std::string Describe(DType dtype, const Shape& shape) {
  return std::string(LongName(dtype)) + " " + ToString(shape);
}

std::string ListOf(std::span<const TensorInfo> inputs) {
  std::string text;
  for (const TensorInfo& input : inputs) {
    text += "\n  " + graph::Quote(input.name) + " " + Describe(input.dtype, input.shape);
  }
  return text.empty() ? " The model has no inputs." : " The model's inputs are:" + text;
}

Status CheckArray(const TensorInfo& wanted, const NamedFile& file, const Array& array,
                  bool sizes_vary) {
  if (array.dtype == wanted.dtype && (sizes_vary || array.shape == wanted.shape)) {
    return CheckBounds(array, wanted.least, wanted.greatest)
        .While("reading " + file.path + " for input " + graph::Quote(wanted.name));
  }
  return Wrong("File '" + file.path + "' holds " + Describe(array.dtype, array.shape) +
               ", but input " + graph::Quote(wanted.name) + " is " +
               Describe(wanted.dtype, wanted.shape) + ".");
}

Array RandomArray(const TensorInfo& input, std::mt19937_64& generator) {
  Array array{input.dtype, input.shape, std::vector<std::byte>(input.size)};
  tools::FillAtRandom(input, generator, array.bytes);
  return array;
}

}  // namespace

Result<std::vector<Array>> ReadInputs(std::span<const TensorInfo> wanted,
                                      std::span<const NamedFile> files, bool sizes_vary,
                                      std::optional<uint64_t> seed) {
  std::vector<std::optional<Array>> arrays(wanted.size());
  for (const NamedFile& file : files) {
    const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const TensorInfo& input) {
      return input.name == file.name;
    });
    if (found == wanted.end()) {
      return Wrong("The model has no input " + graph::Quote(file.name) + "." + ListOf(wanted));
    }
    std::optional<Array>& array = arrays[static_cast<size_t>(found - wanted.begin())];
    if (array) return Wrong("Input " + graph::Quote(file.name) + " is given twice.");
    SPIRLOOM_TRY_ASSIGN(array, ReadNpy(file.path));
    SPIRLOOM_TRY(CheckArray(*found, file, *array, sizes_vary));
  }
  std::vector<Array> result;
  std::mt19937_64 generator(seed.value_or(0));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!arrays[i] && seed) arrays[i] = RandomArray(wanted[i], generator);
    if (!arrays[i]) {
      return Wrong("Input " + graph::Quote(wanted[i].name) + " is missing: add --input " +
                   wanted[i].name + "=FILE.npy, or --random." + ListOf(wanted));
    }
    result.push_back(std::move(*arrays[i]));
  }
  return result;
}

}  // namespace spirloom::run
