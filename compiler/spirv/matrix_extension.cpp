#include "compiler/spirv/matrix_extension.h"

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;

constexpr const char* kNvMatrixExtension = "SPV_NV_cooperative_matrix";

void Append(std::vector<uint32_t>& module, const Instruction& in) {
  module.insert(module.end(), in.words.begin(), in.words.end());
}

struct SharedAccesses {
  std::map<uint32_t, size_t> reads;  // number of instructions by variable
  std::map<uint32_t, size_t> writes;
};

class SharedMemory {
 public:
  static SharedAccesses Count(std::span<const uint32_t> module) {
    SharedMemory memory;
    WalkSpirv(module, [&memory](const Instruction& in) {
      memory.Record(in);
      return true;
    });
    return std::move(memory.accesses_);
  }

 private:
  void Record(const Instruction& in);

  void Add(uint32_t pointer, std::map<uint32_t, size_t>& counts) const {
    if (const auto found = root_.find(pointer); found != root_.end()) ++counts[found->second];
  }

  std::map<uint32_t, uint32_t> root_;  // pointer into a shared variable -> the variable
  SharedAccesses accesses_;
};

void SharedMemory::Record(const Instruction& in) {
  switch (in.opcode) {
    case spv::OpVariable:
      if (in.Word(3) == spv::StorageClassWorkgroup) root_[in.Word(2)] = in.Word(2);
      return;
    case spv::OpAccessChain:
    case spv::OpInBoundsAccessChain:
    case spv::OpCopyObject:
      if (const auto base = root_.find(in.Word(3)); base != root_.end()) {
        root_[in.Word(2)] = base->second;
      }
      return;
    case spv::OpLoad:
    case spv::OpCooperativeMatrixLoadNV:
      return Add(in.Word(3), accesses_.reads);
    case spv::OpStore:
    case spv::OpCooperativeMatrixStoreNV:
    case spv::OpAtomicStore:
      return Add(in.Word(1), accesses_.writes);
    case spv::OpCopyMemory:
      Add(in.Word(1), accesses_.writes);
      return Add(in.Word(2), accesses_.reads);
    default:
      break;
  }
  if (in.opcode < spv::OpAtomicLoad || in.opcode > spv::OpAtomicXor) return;
  Add(in.Word(3), accesses_.reads);
  if (in.opcode != spv::OpAtomicLoad) Add(in.Word(3), accesses_.writes);
}

}  // namespace

std::vector<uint32_t> WithoutMatrixExtension(std::span<const uint32_t> module) {
  std::vector<uint32_t> out(module.begin(), module.begin() + kHeaderWords);
  WalkSpirv(module, [&out](const Instruction& in) {
    if (in.opcode != spv::OpExtension || in.String(1) != kNvMatrixExtension) Append(out, in);
    return true;
  });
  return out;
}

std::vector<uint32_t> WithMatrixExtension(std::span<const uint32_t> module) {
  std::vector<uint32_t> out(module.begin(), module.begin() + kHeaderWords);
  bool written = false;
  WalkSpirv(module, [&](const Instruction& in) {
    if (!written && in.opcode != spv::OpCapability) {
      AppendInstruction(out, spv::OpExtension, {}, kNvMatrixExtension);
      written = true;
    }
    Append(out, in);
    return true;
  });
  return out;
}

bool LosesSharedWrites(std::span<const uint32_t> before, std::span<const uint32_t> after) {
  const std::map<uint32_t, size_t> written = SharedMemory::Count(before).writes;
  const SharedAccesses left = SharedMemory::Count(after);
  const auto count = [](const std::map<uint32_t, size_t>& counts, uint32_t variable) {
    const auto found = counts.find(variable);
    return found == counts.end() ? 0 : found->second;
  };
  return std::ranges::any_of(left.reads, [&](const auto& read) {
    return count(left.writes, read.first) != count(written, read.first);
  });
}

}  // namespace spirloom::compiler
