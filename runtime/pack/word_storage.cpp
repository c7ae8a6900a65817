#include "runtime/pack/word_storage.h"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/word_access.h"

namespace spirloom::pack {
namespace {

using namespace spirv;  // NOLINT(google-build-using-namespace): the specification's names

using Words = std::span<const uint32_t>;

enum class Role : uint8_t {
  kOther,           // it does not
  kNative,          // a type that the device supports, or a value of it
  kType,            // of an element: a scalar or a vec4
  kElementPointer,  // to an element in a storage buffer
  kArray,           // of elements
  kBlock,           // a struct with only such an array
  kBlockPointer,
  kVariable,
  kChain,  // a pointer to an element of a variable
  kValue   // an element
};

// An id, and how it depends on a type of 8 or 16 bits.
struct SmallId {
  Role role = Role::kOther;
  Element element = {};
  uint32_t variable = 0;  // of a chain
  uint32_t index = 0;     // of a chain: the id of the element index
};

bool IsType(uint32_t opcode) { return opcode >= kOpTypeVoid && opcode <= kOpTypeFunction; }

bool IsConversion(uint32_t opcode) {
  return opcode == kOpUConvert || opcode == kOpSConvert || opcode == kOpFConvert;
}

class WordRewriter {
 public:
  WordRewriter(Words module, bool words_of_8, bool words_of_16)
      : module_(module), words_of_8_(words_of_8), words_of_16_(words_of_16) {}

  // Returns whether the module is well-formed. supported() and found() are then known.
  bool Analyze() {
    if (module_.size() < kHeaderWords || module_[kIdBound] > module_.size()) return false;
    ids_.resize(module_[kIdBound]);
    bool in_functions = false;
    uint32_t last = 0;
    const bool complete = ForEachInstruction(module_, [&](uint32_t opcode, Words in) {
      in_functions = in_functions || opcode == kOpFunction;
      if (in_functions) {
        Track(opcode, in);
      } else {
        Declare(opcode, in);
      }
      last = opcode;
      return true;
    });
    return complete && last == kOpFunctionEnd;
  }

  // Whether there is something to rewrite.
  bool found() const { return found_; }
  bool supported() const { return supported_; }

  std::vector<uint32_t> Rewrite() {
    SpirvBuilder builder(module_);
    std::vector<uint32_t> head(module_.begin(), module_.begin() + kHeaderWords);
    std::vector<uint32_t> body;
    const uint32_t uint_type = builder.Uint();
    const size_t declared = builder.declarations().size();  // above
    if (glsl_ == 0) glsl_ = builder.NewId();
    WordAccess access(builder, glsl_);
    bool has_types = false;
    bool in_functions = false;
    ForEachInstruction(module_, [&](uint32_t opcode, Words in) {
      in_functions = in_functions || opcode == kOpFunction;
      // The arrays need it, so it comes first.
      if (IsType(opcode) && !std::exchange(has_types, true))
        SpirvBuilder::Emit(head, kOpTypeInt, {uint_type, 32, 0});
      std::vector<uint32_t>& out = in_functions ? body : head;
      if (!(in_functions ? Replace(opcode, in, access, body)
                         : ReplaceDeclaration(opcode, in, uint_type, head)))
        SpirvBuilder::Append(out, in);
      return true;
    });
    head[kIdBound] = builder.bound();
    for (const Words part :
         {Words(builder.declarations()).subspan(declared), Words(body), Words(access.functions())})
      SpirvBuilder::Append(head, part);
    return head;
  }

 private:
  // Ids outside the bound of the module refer to a dummy.
  SmallId& At(uint32_t id) { return id < ids_.size() ? ids_[id] : nothing_ = SmallId(); }

  void Is(uint32_t id, Role role, const Element& element) {
    At(id) = {.role = role, .element = element};
  }

  bool IsRewritten(uint32_t bits) const { return bits == 8 ? words_of_8_ : words_of_16_; }

  void DeclareScalar(Words in, bool is_float) {
    if (in[2] != 8 && in[2] != 16) return;
    if (!IsRewritten(in[2])) return Is(in[1], Role::kNative, {});
    found_ = true;
    Is(in[1], Role::kType, {.bits = in[2], .count = 1, .is_float = is_float});
  }

  // The role of the type that `in` declares with elements, pointees or members of `of`.
  static Role RoleOf(uint32_t opcode, Words in, const SmallId& of) {
    if (opcode == kOpTypeVector && of.role == Role::kNative) return Role::kNative;
    if (opcode == kOpTypeVector && in.size() == 4 && in[3] == 4 && of.role == Role::kType &&
        of.element.count == 1 && (of.element.bits == 8 || of.element.is_float))
      return Role::kType;
    if (opcode == kOpTypeRuntimeArray && of.role == Role::kType) return Role::kArray;
    if (opcode == kOpTypeStruct && in.size() == 3 && of.role == Role::kArray) return Role::kBlock;
    if (opcode != kOpTypePointer || in.size() != 4 || in[2] != kStorageBuffer) return Role::kOther;
    if (of.role == Role::kType) return Role::kElementPointer;
    return of.role == Role::kBlock ? Role::kBlockPointer : Role::kOther;
  }

  void Declare(uint32_t opcode, Words in) {
    if (opcode == kOpCapability) {
      supported_ = supported_ && in.size() == 2 && in[1] != kFloat64 && in[1] != kInt64;
      // A capability is dropped also if its last use was optimized away.
      found_ = found_ || IsDroppedDeclaration(opcode, in);
    }
    if (opcode == kOpExtInstImport && IsNamed(in, 2, kGlslName)) glsl_ = in[1];
    if (opcode == kOpTypeFloat && in.size() == 3) DeclareScalar(in, /*is_float=*/true);
    if (opcode == kOpTypeInt && in.size() == 4) DeclareScalar(in, /*is_float=*/false);
    if (!IsType(opcode)) return DeclareValue(opcode, in);
    if (opcode <= kOpTypeFloat || in.size() < 3) return;
    if (in.size() == 3 || opcode == kOpTypeVector || opcode == kOpTypePointer) {
      const SmallId of = At(in[opcode == kOpTypePointer && in.size() == 4 ? 3 : 2]);
      if (const Role role = RoleOf(opcode, in, of); role != Role::kOther) {
        Is(in[1], role, of.element);
        if (opcode == kOpTypeVector) At(in[1]).element.count = 4;
        return;
      }
    }
    const bool has_list = opcode == kOpTypeStruct || opcode == kOpTypeFunction;
    const size_t first = opcode == kOpTypePointer ? 3 : 2;
    const size_t end = has_list ? in.size() : std::min(first + 1, in.size());
    for (size_t i = first; i < end; ++i) RejectUse(in[i]);
  }

  // Variables, and constants, which are supported for other types only.
  void DeclareValue(uint32_t opcode, Words in) {
    if (opcode == kOpVariable && in.size() == 4 && At(in[1]).role == Role::kBlockPointer) {
      Is(in[2], Role::kVariable, At(in[1]).element);
    } else if (opcode > kOpTypeFunction && opcode < kOpFunction && in.size() > 1) {
      RejectUse(in[1]);
    }
  }

  void RejectUse(uint32_t id) { supported_ = supported_ && At(id).role <= Role::kNative; }

  // Records element pointers and elements. Any other use of them is not supported.
  void Track(uint32_t opcode, Words in) {
    if (in.size() == 6 && (opcode == kOpAccessChain || opcode == kOpInBoundsAccessChain) &&
        At(in[3]).role == Role::kVariable) {
      Is(in[2], Role::kChain, At(in[3]).element);
      At(in[2]).variable = in[3];
      At(in[2]).index = in[5];
      return;
    }
    if (in.size() == 4 && opcode == kOpLoad && At(in[3]).role == Role::kChain)
      return Is(in[2], Role::kValue, At(in[3]).element);
    if (in.size() == 3 && opcode == kOpStore && IsStore(in)) return;
    if (in.size() == 4 && IsConversion(opcode)) {
      const SmallId type = At(in[1]);
      const SmallId& value = At(in[3]);
      const bool is_float = opcode == kOpFConvert;
      if (value.role == Role::kValue && type.role == Role::kOther) {
        supported_ = supported_ && value.element.is_float == is_float;
        return;
      }
      if (type.role == Role::kType && value.role == Role::kOther) {
        supported_ = supported_ && type.element.is_float == is_float;
        return Is(in[2], Role::kValue, type.element);
      }
    }
    found_ = found_ || IsPack(opcode, in);
    if (in.size() > 2 && At(in[1]).role == Role::kNative) Is(in[2], Role::kNative, {});
    const auto [literals, ids_again] = LiteralsOf(opcode, in);
    for (size_t i = 1; i < in.size(); ++i) {
      if (i >= literals && i < ids_again) continue;
      RejectUse(in[i]);
    }
  }

  bool IsStore(Words in) {
    const SmallId pointer = At(in[1]);
    const SmallId& value = At(in[2]);
    return pointer.role == Role::kChain && value.role == Role::kValue &&
           pointer.element == value.element;
  }

  bool IsPack(uint32_t opcode, Words in) const {
    return words_of_16_ && opcode == kOpExtInst && in.size() == 6 && in[3] == glsl_ &&
           in[4] == kPackHalf2x16;
  }

  bool IsDroppedName(Words in) {
    if (in.size() < 2) return false;
    const Role role = At(in[1]).role;
    return role == Role::kType || role == Role::kElementPointer || role == Role::kChain ||
           role == Role::kValue;
  }

  bool IsDroppedDeclaration(uint32_t opcode, Words in) {
    if (opcode == kOpCapability && in.size() == 2) {
      return (words_of_8_ && in[1] == kStorageBuffer8BitAccess) ||
             (words_of_16_ && in[1] == kStorageBuffer16BitAccess);
    }
    if (opcode == kOpExtension) {
      return (words_of_8_ && IsNamed(in, 1, "SPV_KHR_8bit_storage")) ||
             (words_of_16_ && IsNamed(in, 1, "SPV_KHR_16bit_storage"));
    }
    // Elements are now words, to which precision and rounding modes do not apply.
    if (opcode == kOpName || opcode == kOpDecorate) {
      return IsDroppedName(in) || (in.size() == 3 && in[2] == kDecorationNonReadable &&
                                   At(in[1]).role == Role::kVariable);
    }
    if (opcode == kOpMemberDecorate)
      return in.size() == 4 && in[3] == kDecorationNonReadable && At(in[1]).role == Role::kBlock;
    const bool is_type = opcode == kOpTypeFloat || opcode == kOpTypeInt ||
                         opcode == kOpTypeVector || opcode == kOpTypePointer;
    return is_type && IsDroppedName(in);
  }

  // Returns whether it appended a replacement, or nothing for an instruction to drop.
  bool ReplaceDeclaration(uint32_t opcode, Words in, uint32_t uint_type,
                          std::vector<uint32_t>& out) {
    if (IsDroppedDeclaration(opcode, in)) return true;
    if (opcode == kOpMemoryModel && glsl_ >= ids_.size()) {
      SpirvBuilder::EmitString(out, kOpExtInstImport, {glsl_}, kGlslName);
    }
    if (opcode == kOpTypeInt && in.size() == 4 && in[1] == uint_type) return true;
    if (opcode == kOpTypeRuntimeArray && in.size() == 3 && At(in[1]).role == Role::kArray) {
      SpirvBuilder::Emit(out, kOpTypeRuntimeArray, {in[1], uint_type});
      return true;
    }
    if (opcode == kOpDecorate && in.size() == 4 && in[2] == kDecorationArrayStride &&
        At(in[1]).role == Role::kArray) {
      SpirvBuilder::Emit(out, kOpDecorate, {in[1], kDecorationArrayStride, sizeof(uint32_t)});
      return true;
    }
    return false;
  }

  bool Replace(uint32_t opcode, Words in, WordAccess& access, std::vector<uint32_t>& out) {
    if (IsPack(opcode, in)) {
      access.PackHalf2x16(out, in[2], in[5]);
      return true;
    }
    if (opcode == kOpStore && in.size() == 3 && At(in[1]).role == Role::kChain) {
      const SmallId& pointer = At(in[1]);
      access.Store(out, {pointer.variable, pointer.index, pointer.element}, in[2]);
      return true;
    }
    if (in.size() < 4) return false;
    if (At(in[2]).role == Role::kChain) return true;
    if (opcode == kOpLoad && At(in[3]).role == Role::kChain) {
      const SmallId& pointer = At(in[3]);
      access.Load(out, in[2], {pointer.variable, pointer.index, pointer.element});
      return true;
    }
    if (!IsConversion(opcode)) return false;
    if (At(in[3]).role == Role::kValue) {
      access.Decode(out, opcode, in[1], in[2], in[3], At(in[3]).element);
    } else if (At(in[2]).role == Role::kValue) {
      access.Encode(out, in[2], in[3], At(in[2]).element);
    } else {
      return false;
    }
    return true;
  }

  Words module_;
  bool words_of_8_;
  bool words_of_16_;
  std::vector<SmallId> ids_;
  SmallId nothing_;
  uint32_t glsl_ = 0;  // GLSL.std.450
  bool found_ = false;
  bool supported_ = true;
};

}  // namespace

Status StoreInWords(std::vector<uint32_t>& module, uint64_t lacking) {
  WordRewriter rewriter(module, (lacking & CapabilityBit(Capability::kStorageBuffer8Bit)) != 0,
                        (lacking & CapabilityBit(Capability::kStorageBuffer16Bit)) != 0);
  if (!rewriter.Analyze() || !rewriter.found()) return {};
  if (!rewriter.supported()) {
    return Error(StatusCode::kUnsupported,
                 "The device has no 8-bit or 16-bit storage, and the shader uses such values other "
                 "than in loads, stores and conversions to and from 32 bits.");
  }
  module = rewriter.Rewrite();
  return {};
}

}  // namespace spirloom::pack
