#include "compiler/spirv/cooperative_matrix.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <utility>

#include "compiler/base/capabilities.h"
#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/spirv_index.h"
#include "runtime/pack/pack_format.h"

namespace spirloom::compiler {
namespace {

constexpr std::array<const char*, khr::kMatrixUses> kUseNames = {"matrix A", "matrix B",
                                                                 "accumulator"};
// Layouts have values from the same range, and share the constants of the uses.
constexpr uint32_t kRowMajor = 0;
constexpr uint32_t kColumnMajor = 1;

Status Invalid(std::string message) { return Status(StatusCode::kInvalidFile, std::move(message)); }

// The element type, rows and columns of a matrix type, e.g. "f16 16 x 8".
std::string ShapeText(const SpirvIndex& index, const Instruction& type) {
  return "f" + std::to_string(index.Definition(type.Word(2)).Word(2)) + " " +
         std::to_string(index.ConstantValue(type.Word(4))) + " x " +
         std::to_string(index.ConstantValue(type.Word(5)));
}

class Rewriter {
 public:
  Rewriter(std::span<const uint32_t> words, const SpirvIndex& index)
      : index_(index), next_id_(words[3]) {
    out_.assign(words.begin(), words.begin() + 5);
    WalkSpirv(words, [this](const Instruction& in) {
      Record(in);
      return true;
    });
  }

  Result<std::vector<uint32_t>> Run(std::span<const uint32_t> words) && {
    SPIRLOOM_TRY(InferUses());
    for (uint32_t& id : use_constants_) id = next_id_++;
    Status status;
    WalkSpirv(words, [&](const Instruction& in) {
      status = Rewrite(in);
      return status.ok();
    });
    SPIRLOOM_TRY(status);
    out_[3] = next_id_;
    return std::move(out_);
  }

 private:
  void Record(const Instruction& in) {
    if (in.opcode == spv::OpTypeCooperativeMatrixNV) {
      types_.emplace(in.Word(1), in);
      sizes_.insert({in.Word(4), in.Word(5)});
    }
    if (in.opcode == spv::OpConstantTrue || in.opcode == spv::OpConstantFalse)
      bools_[in.Word(2)] = in.opcode == spv::OpConstantTrue;
    // An instruction with a matrix result has its type in word 1 and its id in word 2.
    if (in.words.size() > 2 && types_.contains(in.Word(1))) type_of_[in.Word(2)] = in.Word(1);
    if (in.opcode == spv::OpCooperativeMatrixMulAddNV) mul_adds_.push_back(in);
  }

  Status InferUses() {
    for (const Instruction& mul_add : mul_adds_) {
      for (uint32_t use = 0; use < khr::kMatrixUses; ++use)
        SPIRLOOM_TRY(SetUse(type_of_[mul_add.Word(3 + use)], use));
      SPIRLOOM_TRY(SetUse(mul_add.Word(1), khr::kMatrixUses - 1));
    }
    for (const auto& [id, type] : types_) {
      if (uses_.contains(id)) continue;
      return Invalid("No multiply-add uses the cooperative matrices " + ShapeText(index_, type) +
                     ", so their use (matrix A, matrix B or accumulator) is unknown.");
    }
    return {};
  }

  Status SetUse(uint32_t type_id, uint32_t use) {
    const Instruction& type = types_.at(type_id);
    const auto [known, added] = uses_.emplace(type_id, use);
    if (known->second != use) {
      return Invalid("Cooperative matrices of one type (" + ShapeText(index_, type) +
                     ") are used as " + kUseNames[known->second] + " and as " + kUseNames[use] +
                     ". Declare their sizes by different constants (lib/coopmat.glsl.j2).");
    }
    const uint32_t bits = use == khr::kMatrixUses - 1 ? 32 : 16;
    const Instruction scalar = index_.Definition(type.Word(2));
    const bool known_shape = index_.ConstantValue(type.Word(4)) == pack::kMatrixSide &&
                             index_.ConstantValue(type.Word(5)) == pack::kMatrixSide;
    const bool subgroup = index_.ConstantValue(type.Word(3)) == spv::ScopeSubgroup;
    if (scalar.opcode == spv::OpTypeFloat && scalar.Word(2) == bits && known_shape && subgroup)
      return {};
    return Invalid("The shader uses cooperative matrices " + ShapeText(index_, type) + " as " +
                   kUseNames[use] + "; `needs: [cooperative_matrix]` supports only f" +
                   std::to_string(bits) + " " + std::to_string(pack::kMatrixSide) + " x " +
                   std::to_string(pack::kMatrixSide) + " with subgroup scope.");
  }

  void Emit(uint16_t opcode, std::initializer_list<uint32_t> operands,
            std::span<const uint32_t> rest = {}) {
    const auto length = static_cast<uint32_t>(1 + operands.size() + rest.size());
    out_.push_back(length << 16 | opcode);
    out_.insert(out_.end(), operands);
    out_.insert(out_.end(), rest.begin(), rest.end());
  }

  void Copy(const Instruction& in, std::optional<uint16_t> opcode = std::nullopt) {
    Emit(opcode.value_or(in.opcode), {}, in.words.subspan(1));
  }

  // The id of the KHR layout for NV's flag `column_major`, which must be a constant.
  Result<uint32_t> Layout(uint32_t column_major) const {
    const auto found = bools_.find(column_major);
    if (found == bools_.end()) {
      return Invalid(
          "The argument `colMajor` of a cooperative matrix load or store must be true or false, "
          "not "
          "an expression.");
    }
    return use_constants_[found->second ? kColumnMajor : kRowMajor];
  }

  Status Rewrite(const Instruction& in);

  const SpirvIndex& index_;
  uint32_t next_id_;
  std::vector<uint32_t> out_;
  std::map<uint32_t, Instruction> types_;  // matrix types
  std::map<uint32_t, uint32_t> type_of_;   // id of a matrix -> its type
  std::map<uint32_t, uint32_t> uses_;      // type -> use
  std::map<uint32_t, bool> bools_;         // boolean constants
  std::set<uint32_t> sizes_;               // constants that are rows or columns of types
  std::vector<Instruction> mul_adds_;
  std::array<uint32_t, khr::kMatrixUses> use_constants_{};  // ids of the constants 0, 1, 2
  bool use_constants_written_ = false;
};

Status Rewriter::Rewrite(const Instruction& in) {
  switch (in.opcode) {
    case spv::OpCapability:
      if (in.Word(1) != spv::CapabilityCooperativeMatrixNV) break;
      Emit(spv::OpCapability, {kCooperativeMatrixKhr});
      return {};
    case spv::OpExtension:
      if (in.String(1) != "SPV_NV_cooperative_matrix") break;
      AppendInstruction(out_, spv::OpExtension, {}, khr::kMatrixExtension);
      return {};
    case spv::OpDecorate:
      if (in.Word(2) == spv::DecorationSpecId && sizes_.contains(in.Word(1))) return {};
      break;
    case spv::OpSpecConstant:
      if (!sizes_.contains(in.Word(2))) break;
      Copy(in, spv::OpConstant);
      return {};
    case spv::OpSpecConstantOp:
      if (in.Word(3) != spv::OpCooperativeMatrixLengthNV) break;
      return Invalid(
          "The length of a cooperative matrix is used outside of functions. It is not a constant: "
          "do not use it in the size of an array or in a global constant.");
    case spv::OpTypeInt:
      Copy(in);
      if (use_constants_written_ || in.Word(2) != 32 || in.Word(3) != 0) return {};
      use_constants_written_ = true;
      for (uint32_t i = 0; i < khr::kMatrixUses; ++i)
        Emit(spv::OpConstant, {in.Word(1), use_constants_[i], i});
      return {};
    case spv::OpTypeCooperativeMatrixNV:
      Emit(khr::kOpTypeMatrix, {in.Word(1), in.Word(2), in.Word(3), in.Word(4), in.Word(5),
                                use_constants_[uses_.at(in.Word(1))]});
      return {};
    case spv::OpCooperativeMatrixLoadNV: {
      SPIRLOOM_TRY_ASSIGN(const uint32_t layout, Layout(in.Word(5)));
      Emit(khr::kOpLoad, {in.Word(1), in.Word(2), in.Word(3), layout, in.Word(4)},
           in.words.subspan(6));
      return {};
    }
    case spv::OpCooperativeMatrixStoreNV: {
      SPIRLOOM_TRY_ASSIGN(const uint32_t layout, Layout(in.Word(4)));
      Emit(khr::kOpStore, {in.Word(1), in.Word(2), layout, in.Word(3)}, in.words.subspan(5));
      return {};
    }
    case spv::OpCooperativeMatrixMulAddNV:
      Copy(in, khr::kOpMulAdd);
      return {};
    case spv::OpCooperativeMatrixLengthNV:
      Copy(in, khr::kOpLength);
      return {};
    default:
      break;
  }
  Copy(in);
  return {};
}

}  // namespace

Result<std::vector<uint32_t>> WithKhrMatrices(std::span<const uint32_t> words) {
  const std::optional<SpirvIndex> index = SpirvIndex::Create(words);
  if (!index) return Invalid("The module is not well-formed SPIR-V.");
  if (std::ranges::find(index->capabilities(), spv::CapabilityCooperativeMatrixNV) ==
      index->capabilities().end()) {
    return std::vector<uint32_t>(words.begin(), words.end());
  }
  return Rewriter(words, *index).Run(words);
}

}  // namespace spirloom::compiler
