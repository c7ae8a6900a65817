#include "compiler/spirv/matrix_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/capabilities.h"
#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/spirv_index.h"

namespace spirloom::compiler {
namespace {

constexpr std::pair<uint16_t, uint16_t> kOpcodes[] = {
    {spv::OpTypeCooperativeMatrixNV, khr::kOpTypeMatrix},
    {spv::OpCooperativeMatrixLoadNV, khr::kOpLoad},
    {spv::OpCooperativeMatrixStoreNV, khr::kOpStore},
    {spv::OpCooperativeMatrixMulAddNV, khr::kOpMulAdd},
    {spv::OpCooperativeMatrixLengthNV, khr::kOpLength},
};

bool IsMatrixExtension(std::string_view name) {
  return name == "SPV_NV_cooperative_matrix" || name == khr::kMatrixExtension ||
         name == "SPV_KHR_bfloat16";
}

bool IsMatrixCapability(uint32_t capability) {
  return capability == spv::CapabilityCooperativeMatrixNV || capability == kCooperativeMatrixKhr ||
         capability == spv::CapabilityFloat16 || capability == kBFloat16TypeKhr ||
         capability == kBFloat16CooperativeMatrixKhr;
}

// The instructions of a module, divided into those that the conversion concerns and the others.
struct Parts {
  std::vector<Instruction> matrix;  // declarations and accesses of matrices
  std::vector<Instruction> others;
  std::set<uint32_t> capabilities;
  std::set<std::string> extensions;
  std::map<uint32_t, uint32_t> type_of;  // id of a value -> its type
  std::set<uint32_t> true_constants;     // ids of the constant `true`
};

class Divider {
 public:
  // `bound`: the id bound before the conversion; `sizes`: ids of the matrices' rows and columns.
  Divider(uint32_t bound, const std::set<uint32_t>& sizes) : bound_(bound), sizes_(sizes) {}

  Parts Run(std::span<const uint32_t> words) && {
    WalkSpirv(words, [this](const Instruction& in) {
      Add(in);
      return true;
    });
    return std::move(parts_);
  }

 private:
  bool IsConcerned(const Instruction& in) {
    switch (in.opcode) {
      case spv::OpCapability:
        if (!IsMatrixCapability(in.Word(1))) return false;
        return parts_.capabilities.insert(in.Word(1)).second;
      case spv::OpExtension:
        if (!IsMatrixExtension(in.String(1))) return false;
        return parts_.extensions.insert(in.String(1)).second;
      case spv::OpDecorate:
        return in.Word(2) == spv::DecorationSpecId && sizes_.contains(in.Word(1));
      case spv::OpConstant:
      case spv::OpSpecConstant:
        return in.Word(2) >= bound_ || sizes_.contains(in.Word(2));
      case spv::OpTypeFloat:
        return in.Word(2) == 16;
      default:
        return false;
    }
  }

  void Add(const Instruction& in) {
    const bool type = in.opcode == khr::kOpTypeMatrix ||
                      in.opcode == spv::OpTypeCooperativeMatrixNV ||
                      (in.opcode >= spv::OpTypeVoid && in.opcode <= spv::OpTypeForwardPointer);
    if (type) types_.insert(in.Word(1));
    if (!type && in.words.size() > 2 && types_.contains(in.Word(1)))
      parts_.type_of[in.Word(2)] = in.Word(1);
    if (in.opcode == spv::OpConstantTrue) parts_.true_constants.insert(in.Word(2));
    const bool matrix = std::ranges::any_of(kOpcodes, [&](const auto& opcodes) {
      return in.opcode == opcodes.first || in.opcode == opcodes.second;
    });
    if (matrix) {
      parts_.matrix.push_back(in);
    } else if (!IsConcerned(in)) {
      parts_.others.push_back(in);
    }
  }

  uint32_t bound_;
  const std::set<uint32_t>& sizes_;
  std::set<uint32_t> types_;
  Parts parts_;
};

// Checks the matrix instructions of a converted module.
class MatrixChecker {
 public:
  MatrixChecker(const SpirvIndex& index, const Parts& parts) : index_(index), parts_(parts) {}

  // Returns the violated rule, or an empty text.
  std::string_view Violation(const Instruction& in) {
    switch (in.opcode) {
      case khr::kOpTypeMatrix:
        return TypeViolation(in);
      case khr::kOpLoad:
        return AccessViolation(in.Word(1), in.Word(3), in.Word(4), in.Word(5));
      case khr::kOpStore:
        return AccessViolation(TypeOf(in.Word(2)), in.Word(1), in.Word(3), in.Word(4));
      case khr::kOpMulAdd:
        return MulAddViolation(in);
      case khr::kOpLength:
        return types_.contains(in.Word(3)) && IsInt(in.Word(1)) ? "" : "its type is not a matrix";
      default:
        return "it is an instruction of another extension";
    }
  }

 private:
  uint32_t TypeOf(uint32_t id) const {
    const auto found = parts_.type_of.find(id);
    return found == parts_.type_of.end() ? 0 : found->second;
  }
  bool IsInt(uint32_t type) const { return index_.Definition(type).opcode == spv::OpTypeInt; }
  bool IsConstant(uint32_t id) const {
    const Instruction constant = index_.Definition(id);
    return constant.opcode == spv::OpConstant && IsInt(constant.Word(1));
  }

  std::string_view TypeViolation(const Instruction& in) {
    const Instruction element = index_.Definition(in.Word(2));
    if (element.opcode != spv::OpTypeFloat) return "its element type is not a float";
    for (size_t i = 3; i <= 6; ++i) {
      if (!IsConstant(in.Word(i))) return "its scope, sizes and use are not integer constants";
    }
    const uint32_t use = index_.ConstantValue(in.Word(6));
    if (in.words.size() != 7 || use >= khr::kMatrixUses)
      return "its use is not matrix A, B or accumulator";
    const bool bfloat16 = element.words.size() == 4;
    if (bfloat16 && parts_.capabilities.count(kBFloat16CooperativeMatrixKhr) == 0) {
      return "its element type needs the capability of bfloat16 matrices";
    }
    types_.emplace(in.Word(1), in);
    return "";
  }

  std::string_view AccessViolation(uint32_t type, uint32_t pointer, uint32_t layout,
                                   uint32_t stride) const {
    if (!types_.contains(type)) return "its value is not a matrix";
    const Instruction pointer_type = index_.Definition(TypeOf(pointer));
    const uint32_t storage = pointer_type.Word(2);
    if (pointer_type.opcode != spv::OpTypePointer ||
        (storage != spv::StorageClassWorkgroup && storage != spv::StorageClassStorageBuffer &&
         storage != spv::StorageClassUniform)) {
      return "its pointer is not into a storage buffer or shared memory";
    }
    if (!IsConstant(layout) || index_.ConstantValue(layout) > 1) {
      return "its layout is not row-major or column-major";
    }
    return IsInt(TypeOf(stride)) ? "" : "its stride is not an integer";
  }

  std::string_view MulAddViolation(const Instruction& in) const {
    uint32_t sizes[khr::kMatrixUses][2];
    for (uint32_t use = 0; use < khr::kMatrixUses; ++use) {
      const auto type = types_.find(TypeOf(in.Word(3 + use)));
      if (type == types_.end() || index_.ConstantValue(type->second.Word(6)) != use) {
        return "its operands are not a matrix A, a matrix B and an accumulator";
      }
      for (size_t i = 0; i < 2; ++i) {
        sizes[use][i] = index_.ConstantValue(type->second.Word(4 + i));
      }
    }
    if (in.Word(1) != TypeOf(in.Word(5))) return "its result is not of the accumulator's type";
    const bool fits =
        sizes[0][0] == sizes[2][0] && sizes[1][1] == sizes[2][1] && sizes[0][1] == sizes[1][0];
    return fits ? "" : "its operands have unequal sizes";
  }

  const SpirvIndex& index_;
  const Parts& parts_;
  std::map<uint32_t, Instruction> types_;
};

// Whether `after` is `before` in KHR's form: the same ids, operands, sizes and layout.
// `true_constants` are those of the old module.
bool AreEqual(const SpirvIndex& old_index, const std::set<uint32_t>& true_constants,
              const Instruction& before, const SpirvIndex& new_index, const Instruction& after) {
  const auto starts_equal = [&](size_t count) {
    return std::ranges::equal(before.words.subspan(1, count), after.words.subspan(1, count));
  };
  if (std::ranges::find(kOpcodes, std::pair(before.opcode, after.opcode)) == std::end(kOpcodes)) {
    return false;
  }
  switch (after.opcode) {
    case khr::kOpTypeMatrix:
      return starts_equal(5) && std::ranges::all_of(after.words.subspan(3, 3), [&](uint32_t id) {
               return old_index.ConstantValue(id) == new_index.ConstantValue(id);
             });
    case khr::kOpLoad:
    case khr::kOpStore: {
      // NV's stride and `column_major` are KHR's layout and stride.
      const size_t at = after.opcode == khr::kOpLoad ? 4 : 3;
      const bool column_major = true_constants.contains(before.Word(at + 1));
      return starts_equal(at - 1) && before.Word(at) == after.Word(at + 1) &&
             new_index.ConstantValue(after.Word(at)) == (column_major ? 1 : 0) &&
             std::ranges::equal(before.words.subspan(at + 2), after.words.subspan(at + 2));
    }
    default:
      return std::ranges::equal(before.words.subspan(1), after.words.subspan(1));
  }
}

Status Violated(std::string_view what) {
  return Status(StatusCode::kInternal,
                "The conversion of cooperative matrices is wrong: " + std::string(what) + ".");
}

}  // namespace

Status CheckConvertedMatrices(std::span<const uint32_t> before, std::span<const uint32_t> after) {
  const std::optional<SpirvIndex> old_index = SpirvIndex::Create(before);
  const std::optional<SpirvIndex> new_index = SpirvIndex::Create(after);
  if (!old_index || !new_index) return Violated("a module is not well-formed SPIR-V");
  std::set<uint32_t> sizes;
  WalkSpirv(before, [&](const Instruction& in) {
    if (in.opcode == spv::OpTypeCooperativeMatrixNV) sizes.insert({in.Word(4), in.Word(5)});
    return true;
  });
  const Parts from = Divider(before[3], sizes).Run(before);
  const Parts to = Divider(before[3], sizes).Run(after);
  const auto same = [](const Instruction& a, const Instruction& b) {
    return std::ranges::equal(a.words, b.words);
  };
  if (!std::ranges::equal(from.others, to.others, same)) {
    return Violated("an instruction without matrices differs");
  }
  std::set<uint32_t> added;
  bool unique = true;
  WalkSpirv(after, [&](const Instruction& in) {
    const bool is_new = in.opcode == spv::OpConstant && in.Word(2) >= before[3];
    if (is_new) unique = unique && added.insert(in.Word(2)).second && in.Word(2) < after[3];
    return true;
  });
  if (!unique) return Violated("a new id is defined twice or exceeds the bound");
  if (from.matrix.empty()) return Status();
  if (to.capabilities.count(kCooperativeMatrixKhr) == 0 ||
      to.extensions.count(std::string(khr::kMatrixExtension)) == 0 ||
      to.capabilities.count(spv::CapabilityCooperativeMatrixNV) != 0) {
    return Violated("capability and extension of the matrices do not match");
  }
  if (from.matrix.size() != to.matrix.size()) return Violated("a matrix instruction is missing");
  MatrixChecker checker(*new_index, to);
  for (size_t i = 0; i < to.matrix.size(); ++i) {
    const std::string where =
        "instruction " + std::to_string(i) + " (opcode " + std::to_string(to.matrix[i].opcode);
    if (!AreEqual(*old_index, from.true_constants, from.matrix[i], *new_index, to.matrix[i])) {
      return Violated(where + ") is not the one before the conversion");
    }
    const std::string_view violation = checker.Violation(to.matrix[i]);
    if (!violation.empty()) return Violated(where + "): " + std::string(violation));
  }
  return Status();
}

}  // namespace spirloom::compiler
