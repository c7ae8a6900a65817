#include "compiler/spirv/software_device.h"

#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;
using pack::spirv::kIdBound;

// An OpAccessChain without its result id: the type, the variable and the indices.
using AccessPath = std::vector<uint32_t>;

class PushConstantHoister {
 public:
  explicit PushConstantHoister(std::span<const uint32_t> module) : module_(module) {}

  std::vector<uint32_t> Run() {
    const bool well_formed = WalkSpirv(module_, [&](const Instruction& instruction) {
      functions_ += instruction.opcode == spv::OpFunction ? 1 : 0;
      Record(instruction);
      return true;
    });
    if (!well_formed || !entry_first_ || accessed_elsewhere_ || loads_.empty()) {
      return {module_.begin(), module_.end()};
    }
    out_.assign(module_.begin(), module_.begin() + kHeaderWords);
    bool in_first_block = false;
    bool hoisted = false;
    WalkSpirv(module_, [&](const Instruction& instruction) {
      if (in_first_block && !hoisted && instruction.opcode != spv::OpVariable) {
        EmitLoads();
        hoisted = true;
      }
      in_first_block |= instruction.opcode == spv::OpLabel;
      EmitOther(instruction);
      return true;
    });
    return std::move(out_);
  }

 private:
  // The load that replaces all loads of its path.
  struct Load {
    uint32_t type = 0;
    uint32_t id = 0;  // of the first load
  };

  void Record(const Instruction& instruction) {
    const std::span<const uint32_t> words = instruction.words;
    if (instruction.opcode == spv::OpEntryPoint) entry_ = instruction.Word(2);
    if (instruction.opcode == spv::OpFunction && functions_ == 1) {
      entry_first_ = instruction.Word(2) == entry_;
    }
    if (instruction.opcode == spv::OpConstant) constants_.insert(instruction.Word(2));
    if (instruction.opcode == spv::OpVariable &&
        instruction.Word(3) == spv::StorageClassPushConstant) {
      variables_.insert(instruction.Word(2));
    }
    if (instruction.opcode == spv::OpAccessChain ||
        instruction.opcode == spv::OpInBoundsAccessChain) {
      if (!variables_.contains(instruction.Word(3))) return;
      accessed_elsewhere_ |= functions_ > 1;
      AccessPath path{words[1]};
      path.insert(path.end(), words.begin() + 3, words.end());
      for (const uint32_t index : words.subspan(4)) {
        if (!constants_.contains(index)) return;
      }
      paths_.emplace(words[2], std::move(path));
    }
    if (instruction.opcode != spv::OpLoad) return;
    const auto chain = paths_.find(instruction.Word(3));
    if (chain == paths_.end()) return;
    const auto [load, added] = loads_.try_emplace(chain->second, Load{words[1], words[2]});
    if (added) order_.push_back(chain->second);
    replaced_.emplace(words[2], load->second.id);
  }

  void EmitLoads() {
    for (const AccessPath& path : order_) {
      const uint32_t chain = module_[kIdBound] + added_ids_++;
      Emit(spv::OpAccessChain, {path[0], chain}, std::span(path).subspan(1));
      const Load& load = loads_.at(path);
      Emit(spv::OpLoad, {load.type, load.id, chain}, {});
    }
    out_[kIdBound] += added_ids_;
  }

  // Later optimizer passes remove unused access chains and copies.
  void EmitOther(const Instruction& instruction) {
    const auto found =
        instruction.opcode == spv::OpLoad ? replaced_.find(instruction.Word(2)) : replaced_.end();
    if (found == replaced_.end()) {
      out_.insert(out_.end(), instruction.words.begin(), instruction.words.end());
    } else if (found->first != found->second) {
      Emit(spv::OpCopyObject, {instruction.Word(1), found->first, found->second}, {});
    }
  }

  void Emit(spv::Op opcode, std::initializer_list<uint32_t> operands,
            std::span<const uint32_t> more) {
    const auto length = static_cast<uint32_t>(1 + operands.size() + more.size());
    out_.push_back(length << spv::WordCountShift | static_cast<uint32_t>(opcode));
    out_.insert(out_.end(), operands);
    out_.insert(out_.end(), more.begin(), more.end());
  }

  std::span<const uint32_t> module_;
  size_t functions_ = 0;
  uint32_t entry_ = 0;
  bool entry_first_ = false;              // the entry point is the first function
  bool accessed_elsewhere_ = false;       // other functions access push constants
  std::set<uint32_t> variables_;          // push-constant variables
  std::set<uint32_t> constants_;          // ids of constants
  std::map<uint32_t, AccessPath> paths_;  // by the id of the access chain
  std::map<AccessPath, Load> loads_;
  std::vector<AccessPath> order_;          // the keys of loads_, in the order of the module
  std::map<uint32_t, uint32_t> replaced_;  // id of a load -> id of the load that replaces it
  uint32_t added_ids_ = 0;
  std::vector<uint32_t> out_;
};

}  // namespace

std::vector<uint32_t> HoistPushConstants(std::span<const uint32_t> module) {
  return PushConstantHoister(module).Run();
}

}  // namespace spirloom::compiler
