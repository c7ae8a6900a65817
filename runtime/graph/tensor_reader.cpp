#include "runtime/graph/tensor_reader.h"

#include <limits>

namespace spirloom::graph {
namespace {

constexpr size_t kConstantAlignment = 64;
constexpr uint64_t kMaxElements = std::numeric_limits<int32_t>::max();

static_assert(static_cast<int>(schema::DType::F32) == static_cast<int>(DType::kF32));
static_assert(static_cast<int>(schema::DType::B8) == static_cast<int>(DType::kB8));
static_assert(static_cast<int>(schema::DType::MAX) == static_cast<int>(DType::kB8));
static_assert(static_cast<int>(schema::Storage::Texture3D) ==
              static_cast<int>(Storage::kTexture3D));
static_assert(static_cast<int>(schema::Storage::Texture2D) ==
              static_cast<int>(Storage::kTexture2D));
static_assert(static_cast<int>(schema::Storage::MAX) == static_cast<int>(Storage::kTexture2D));

Status CheckConstant(uint64_t offset, uint64_t size, size_t section, const std::string& what) {
  if (offset % kConstantAlignment != 0) {
    return InvalidFile("Offset (" + std::to_string(offset) + ") of " + what +
                       " is not a multiple of 64.");
  }
  if (offset <= section && size <= section - offset) return Status();
  return InvalidFile("Range (offset " + std::to_string(offset) + ", size " + std::to_string(size) +
                     ") of " + what + " exceeds the constant section (" + std::to_string(section) +
                     " bytes).");
}

Status ReadShape(const schema::Tensor& source, Tensor& tensor) {
  const size_t rank = CountOf(source.shape());
  if (rank > kMaxRank) {
    return InvalidFile("Rank (" + std::to_string(rank) + ") exceeds " + std::to_string(kMaxRank) +
                       ".");
  }
  uint64_t count = 1;
  bool empty = false;
  for (size_t i = 0; i < rank; ++i) {
    const uint64_t dim = ElementAt(*source.shape(), i);
    empty |= dim == 0;
    if (dim > kMaxElements || (dim != 0 && count > kMaxElements / dim)) {
      return Status(StatusCode::kUnsupported,
                    "Shape has more than " + std::to_string(kMaxElements) + " elements (dim " +
                        std::to_string(i) + " is " + std::to_string(dim) + ").");
    }
    if (dim != 0) count *= dim;
    tensor.shape.push_back(static_cast<int64_t>(dim));
  }
  tensor.size = empty ? 0 : static_cast<size_t>(count) * ElementSize(tensor.dtype);
  return Status();
}

Status ReadTypes(const schema::Tensor& source, Tensor& tensor) {
  if (source.dtype() > schema::DType::MAX) {
    return InvalidFile("DType (" + std::to_string(static_cast<int>(source.dtype())) +
                       ") is not one of 0 to 5.");
  }
  tensor.dtype = static_cast<DType>(source.dtype());
  if (source.storage() > schema::Storage::MAX) {
    return InvalidFile("Storage (" + std::to_string(static_cast<int>(source.storage())) +
                       ") is not one of 0 to 3.");
  }
  tensor.storage = static_cast<Storage>(source.storage());
  return Status();
}

Status ReadBounds(const schema::Tensor& source, Tensor& tensor) {
  tensor.least = source.least();
  tensor.greatest = source.greatest();
  if (tensor.least <= tensor.greatest) return Status();
  return InvalidFile("Least number (" + std::to_string(tensor.least) + ") exceeds the greatest (" +
                     std::to_string(tensor.greatest) + ").");
}

Status CheckTensorConstant(const Tensor& tensor,
                           std::span<const std::span<const std::byte>> constants) {
  if (tensor.constant == -1) return Status();
  if (tensor.constant < -1 || static_cast<size_t>(tensor.constant) >= constants.size()) {
    return InvalidFile("Constant (" + std::to_string(tensor.constant) + ") is out of range of " +
                       std::to_string(constants.size()) + " constants.");
  }
  const size_t size = constants[static_cast<size_t>(tensor.constant)].size();
  if (size == tensor.size) return Status();
  return InvalidFile("Size of constant " + std::to_string(tensor.constant) + " (" +
                     std::to_string(size) + ") differs from the tensor's (" +
                     std::to_string(tensor.size) + ").");
}

Status ReadTensor(const schema::Tensor& source,
                  std::span<const std::span<const std::byte>> constants, ReadBudget& budget,
                  Tensor& tensor) {
  SPIRLOOM_TRY(budget.ReadString(source.name(), tensor.name, "the name"));
  SPIRLOOM_TRY(ReadTypes(source, tensor));
  SPIRLOOM_TRY(ReadShape(source, tensor));
  SPIRLOOM_TRY(ReadBounds(source, tensor));
  tensor.constant = source.constant();
  return CheckTensorConstant(tensor, constants);
}

}  // namespace

Result<std::vector<std::span<const std::byte>>> ReadConstants(const schema::Graph& source,
                                                              std::span<const std::byte> section) {
  std::vector<std::span<const std::byte>> constants;
  const size_t count = CountOf(source.constants());
  constants.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    schema::Constant constant;
    std::memcpy(static_cast<void*>(&constant), source.constants()->Data() + i * sizeof(constant),
                sizeof(constant));
    SPIRLOOM_TRY(CheckConstant(constant.offset(), constant.size(), section.size(),
                               "constant " + std::to_string(i)));
    constants.push_back(section.subspan(constant.offset(), constant.size()));
  }
  return constants;
}

Result<std::vector<Tensor>> ReadTensors(const schema::Graph& source,
                                        std::span<const std::span<const std::byte>> constants,
                                        ReadBudget& budget) {
  std::vector<Tensor> tensors(CountOf(source.tensors()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto* from = source.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY(ReadTensor(*from, constants, budget, tensors[i])
                     .While("reading " + DescribeTensor(tensors[i], i)));
  }
  return tensors;
}

}  // namespace spirloom::graph
