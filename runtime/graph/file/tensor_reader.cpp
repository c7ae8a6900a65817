#include "runtime/graph/file/tensor_reader.h"

#include <algorithm>
#include <optional>

#include "runtime/base/data_types.h"
#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"

namespace spirloom::graph {
namespace {

#define SPIRLOOM_DTYPE(id, ...) \
  static_assert(static_cast<int>(schema::DType::id) == static_cast<int>(DType::k##id));
#include "spec_model/data_types.inc"
#undef SPIRLOOM_DTYPE
#define SPIRLOOM_STORAGE(id, ...) \
  static_assert(static_cast<int>(schema::Storage::id) == static_cast<int>(Storage::k##id));
#include "spec_model/storages.inc"
#undef SPIRLOOM_STORAGE

Status CheckConstant(uint64_t offset, uint64_t size, uint64_t section, size_t index) {
  if (offset % kConstantAlignment != 0) {
    return InvalidFile("Offset ({}) of constant {} is not a multiple of {}.", offset, index,
                       kConstantAlignment);
  }
  if (offset <= section && size <= section - offset) return Status();
  return InvalidFile(
      "Range (offset {}, size {}) of constant {} exceeds the constant section ({} bytes).", offset,
      size, index, section);
}

Status ReadShape(const schema::Tensor& source, Tensor& tensor) {
  const size_t rank = CountOf(source.shape());
  if (rank > kMaxRank) {
    return InvalidFile("Rank ({}) exceeds {}.", rank, kMaxRank);
  }
  uint64_t count = 1;
  bool empty = false;
  for (size_t i = 0; i < rank; ++i) {
    const uint64_t dim = ElementAt(*source.shape(), i);
    empty |= dim == 0;
    if (dim > kMaxElements || (dim != 0 && count > kMaxElements / dim)) {
      return Error(StatusCode::kUnsupported, "Shape has more than {} elements (dim {} is {}).",
                   kMaxElements, i, dim);
    }
    if (dim != 0) count *= dim;
    tensor.shape.push_back(static_cast<int64_t>(dim));
  }
  tensor.size = empty ? 0 : count * ElementSize(tensor.dtype);
  return Status();
}

Status ReadTypes(const schema::Tensor& source, Tensor& tensor) {
  const std::optional<DType> dtype = DTypeOfValue(static_cast<int64_t>(source.dtype()));
  if (!dtype) {
    return InvalidFile("DType is {}; expected 0 to {}.", static_cast<int>(source.dtype()),
                       kDTypes.size() - 1);
  }
  tensor.dtype = *dtype;
  if (source.storage() > schema::Storage::MAX) {
    return InvalidFile("Storage is {}; expected 0 to 3.", static_cast<int>(source.storage()));
  }
  tensor.storage = static_cast<Storage>(source.storage());
  return Status();
}

Status ReadBounds(const schema::Tensor& source, Tensor& tensor) {
  tensor.min = source.min();
  tensor.max = source.max();
  if (tensor.min <= tensor.max) return Status();
  return InvalidFile("Minimum value ({}) exceeds the maximum ({}).", tensor.min, tensor.max);
}

Status ReadTensor(const schema::Tensor& source,
                  std::span<const std::span<const std::byte>> constants, const SizeReader& sizes,
                  ReadBudget& budget, Tensor& tensor) {
  SPIRLOOM_TRY(budget.ReadString(source.name(), tensor.name, "the name"));
  SPIRLOOM_TRY(ReadTypes(source, tensor));
  SPIRLOOM_TRY(ReadShape(source, tensor));
  SPIRLOOM_TRY(ReadBounds(source, tensor));
  SPIRLOOM_TRY(sizes.Read(source.sizes(), tensor.shape, /*may_be_inferred=*/true, tensor.sizes));
  tensor.constant = source.constant();
  tensor.inferred = !tensor.sizes.empty() && std::ranges::all_of(tensor.sizes, [](uint32_t size) {
    return size == kInferredSize;
  });
  if (tensor.constant >= 0 && !tensor.sizes.empty()) {
    return InvalidFile("A constant has dynamic sizes; expected a fixed shape.");
  }
  return CheckConstantOf(tensor, tensor.constant, constants);
}

schema::Constant ConstantAt(const schema::Graph& source, size_t i) {
  schema::Constant constant;
  std::memcpy(static_cast<void*>(&constant), source.constants()->Data() + i * sizeof(constant),
              sizeof(constant));
  return constant;
}

// Returns `separate` if it has the number and sizes of the constants of `source`.
Result<std::vector<std::span<const std::byte>>> CheckSeparate(
    const schema::Graph& source, std::span<const std::span<const std::byte>> separate) {
  const size_t count = CountOf(source.constants());
  if (separate.size() != count) {
    return InvalidFile("{} constants are given; the graph has {}.", separate.size(), count);
  }
  for (size_t i = 0; i < count; ++i) {
    const uint64_t size = ConstantAt(source, i).size();
    if (separate[i].size() == size) continue;
    return InvalidFile("Constant {} has {} bytes; the graph expects {}.", i, separate[i].size(),
                       size);
  }
  return std::vector(separate.begin(), separate.end());
}

}  // namespace

uint64_t ConstantBytes::size() const {
  uint64_t total = section.size();
  for (const auto& constant : separate) total += constant.size();
  return total;
}

Status CheckConstantOf(const Tensor& tensor, int32_t constant,
                       std::span<const std::span<const std::byte>> constants) {
  if (constant == -1) return Status();
  if (constant < -1 || static_cast<size_t>(constant) >= constants.size()) {
    return InvalidFile("Constant ({}) is out of range of {} constants.", constant,
                       constants.size());
  }
  const size_t size = constants[static_cast<size_t>(constant)].size();
  if (size == tensor.size) return Status();
  return InvalidFile("Size of constant {} ({}) differs from the tensor's ({}).", constant, size,
                     tensor.size);
}

Result<std::vector<std::span<const std::byte>>> ReadConstants(const schema::Graph& source,
                                                              const ConstantBytes& bytes) {
  if (!bytes.separate.empty()) return CheckSeparate(source, bytes.separate);
  const std::span<const std::byte> section = bytes.section;
  std::vector<std::span<const std::byte>> constants;
  const size_t count = CountOf(source.constants());
  constants.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const schema::Constant constant = ConstantAt(source, i);
    SPIRLOOM_TRY(CheckConstant(constant.offset(), constant.size(), section.size(), i));
    constants.push_back(section.subspan(static_cast<size_t>(constant.offset()),
                                        static_cast<size_t>(constant.size())));
  }
  return constants;
}

Result<std::vector<Tensor>> ReadTensors(const schema::Graph& source,
                                        std::span<const std::span<const std::byte>> constants,
                                        const SizeReader& sizes, ReadBudget& budget) {
  std::vector<Tensor> tensors(CountOf(source.tensors()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto* from = source.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY_WHILE(ReadTensor(*from, constants, sizes, budget, tensors[i]), "reading {}",
                       DescribeTensor(tensors[i], i));
  }
  return tensors;
}

}  // namespace spirloom::graph
