#include "compiler/software_device.h"

#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;
using pack::spirv::kIdBound;

// The operands of an OpAccessChain but for its result: the type, the variable and the indices.
using Place = std::vector<uint32_t>;

class Hoist {
 public:
  explicit Hoist(std::span<const uint32_t> module) : module_(module) {}

  std::vector<uint32_t> Run() {
    const bool whole = WalkSpirv(module_, [&](const Instruction& instruction) {
      functions_ += instruction.opcode == spv::OpFunction ? 1 : 0;
      Note(instruction);
      return true;
    });
    if (!whole || !entry_first_ || read_later_ || loads_.empty()) {
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
      EmitRest(instruction);
      return true;
    });
    return std::move(out_);
  }

 private:
  // One load that replaces all of its place.
  struct Load {
    uint32_t type = 0;
    uint32_t id = 0;  // of the first of them
  };

  void Note(const Instruction& instruction) {
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
      read_later_ |= functions_ > 1;
      Place place{words[1]};
      place.insert(place.end(), words.begin() + 3, words.end());
      for (const uint32_t index : words.subspan(4)) {
        if (!constants_.contains(index)) return;
      }
      places_.emplace(words[2], std::move(place));
    }
    if (instruction.opcode != spv::OpLoad) return;
    const auto chain = places_.find(instruction.Word(3));
    if (chain == places_.end()) return;
    const auto [load, added] = loads_.try_emplace(chain->second, Load{words[1], words[2]});
    if (added) order_.push_back(chain->second);
    replaced_.emplace(words[2], load->second.id);
  }

  void EmitLoads() {
    for (const Place& place : order_) {
      const uint32_t chain = module_[kIdBound] + added_ids_++;
      Emit(spv::OpAccessChain, {place[0], chain}, std::span(place).subspan(1));
      const Load& load = loads_.at(place);
      Emit(spv::OpLoad, {load.type, load.id, chain}, {});
    }
    out_[kIdBound] += added_ids_;
  }

  // Leaves chains that nothing reads any more, and copies, to the optimiser.
  void EmitRest(const Instruction& instruction) {
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
  bool entry_first_ = false;          // of the functions
  bool read_later_ = false;           // push constants, in others
  std::set<uint32_t> variables_;      // of push constants
  std::set<uint32_t> constants_;      // ids that may index them
  std::map<uint32_t, Place> places_;  // by the id of a chain
  std::map<Place, Load> loads_;
  std::vector<Place> order_;               // of loads_, as the module reads them
  std::map<uint32_t, uint32_t> replaced_;  // a load's id -> the one that stands for it
  uint32_t added_ids_ = 0;
  std::vector<uint32_t> out_;
};

}  // namespace

std::vector<uint32_t> HoistPushConstants(std::span<const uint32_t> module) {
  return Hoist(module).Run();
}

}  // namespace spirloom::compiler
