#include "compiler/spirv/matrix_extension.h"

#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;

constexpr const char* kNvMatrixExtension = "SPV_NV_cooperative_matrix";

void Append(std::vector<uint32_t>& module, const Instruction& in) {
  module.insert(module.end(), in.words.begin(), in.words.end());
}

// The shared variables that matrix loads read, and those that stores write.
class SharedMemory {
 public:
  explicit SharedMemory(std::span<const uint32_t> module) {
    WalkSpirv(module, [this](const Instruction& in) {
      Record(in);
      return true;
    });
  }

  bool IsLoadedButNeverStored() const {
    for (const uint32_t variable : loaded_) {
      if (!stored_.contains(variable)) return true;
    }
    return false;
  }

 private:
  void Record(const Instruction& in) {
    switch (in.opcode) {
      case spv::OpVariable:
        if (in.Word(3) == spv::StorageClassWorkgroup) root_[in.Word(2)] = in.Word(2);
        break;
      case spv::OpAccessChain:
      case spv::OpInBoundsAccessChain:
        if (const auto base = root_.find(in.Word(3)); base != root_.end()) {
          root_[in.Word(2)] = base->second;
        }
        break;
      case spv::OpCooperativeMatrixLoadNV:
        Add(in.Word(3), loaded_);
        break;
      case spv::OpCooperativeMatrixStoreNV:
      case spv::OpStore:
        Add(in.Word(1), stored_);
        break;
      default:
        break;
    }
  }

  void Add(uint32_t pointer, std::set<uint32_t>& variables) const {
    if (const auto found = root_.find(pointer); found != root_.end()) {
      variables.insert(found->second);
    }
  }

  std::map<uint32_t, uint32_t> root_;  // pointer into a shared variable -> the variable
  std::set<uint32_t> loaded_;
  std::set<uint32_t> stored_;
};

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
      AppendExtension(out, kNvMatrixExtension);
      written = true;
    }
    Append(out, in);
    return true;
  });
  return out;
}

bool IsMissingSharedStores(std::span<const uint32_t> module) {
  return SharedMemory(module).IsLoadedButNeverStored();
}

}  // namespace spirloom::compiler
