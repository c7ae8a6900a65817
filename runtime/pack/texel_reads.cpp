#include "runtime/pack/texel_reads.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/pack/spirv_words.h"

namespace spirloom::pack {
namespace {

using namespace spirv;  // NOLINT(google-build-using-namespace): the specification's names

using Words = std::span<const uint32_t>;

enum class Kind : uint8_t {
  kOther,
  kFloat,
  kInt,
  kVec4,
  kArray,
  kStruct,
  kPointer,
  kVariable,
  kChain
};

// The definition of an id.
struct Id {
  Kind kind = Kind::kOther;
  uint32_t of = 0;  // element or pointee type; pointer type of a variable; variable of a chain
  // For a variable.
  uint32_t set = 0;
  uint32_t binding = UINT32_MAX;
  BindingType texels = BindingType::kStorageBuffer;  // the new type
  // For an access chain: ids of the element index and, unless 0, of the component index.
  uint32_t index = 0;
  uint32_t component = 0;

  bool is_rewritten() const { return texels != BindingType::kStorageBuffer; }
};

bool IsChain(uint32_t opcode, Words in) {
  return (opcode == kOpAccessChain || opcode == kOpInBoundsAccessChain) && in.size() >= 6;
}

class Rewriter {
 public:
  Rewriter(Words module, std::span<const BindingType> bindings)
      : module_(module), bindings_(bindings.begin(), bindings.end()) {}

  // Returns whether there is a buffer to rewrite.
  bool Analyze() {
    if (module_.size() < kHeaderWords || module_[kIdBound] > module_.size()) return false;
    ids_.resize(module_[kIdBound]);
    bool in_functions = false;
    uint32_t last = 0;
    const bool complete = ForEachInstruction(module_, [&](uint32_t opcode, Words in) {
      if (opcode == kOpFunction && !std::exchange(in_functions, true)) FindBuffers();
      if (in_functions) {
        TrackUses(opcode, in);
      } else {
        Declare(opcode, in);
      }
      last = opcode;
      return true;
    });
    return complete && last == kOpFunctionEnd && std::ranges::any_of(ids_, &Id::is_rewritten);
  }

  std::vector<uint32_t> Rewrite() {
    out_.assign(module_.begin(), module_.begin() + kHeaderWords);
    next_id_ = module_[kIdBound];
    bool after_capabilities = false;
    bool in_functions = false;
    ForEachInstruction(module_, [&](uint32_t opcode, Words in) {
      if (opcode != kOpCapability && !std::exchange(after_capabilities, true)) {
        Emit(kOpCapability, {kSampledBuffer});
      }
      if (opcode == kOpFunction && !std::exchange(in_functions, true)) AddVariables();
      if (!(in_functions ? Replace(opcode, in) : IsDropped(opcode, in))) {
        out_.insert(out_.end(), in.begin(), in.end());
      }
      return true;
    });
    out_[kIdBound] = next_id_;
    return std::move(out_);
  }

  // The bindings of the rewritten module.
  std::vector<BindingType> Bindings() {
    for (const Id& id : ids_) {
      if (id.is_rewritten()) bindings_[id.binding] = id.texels;
    }
    return std::move(bindings_);
  }

 private:
  // Ids outside the bound of the module refer to a dummy.
  Id& At(uint32_t id) { return id < ids_.size() ? ids_[id] : nothing_ = Id(); }

  void Is(uint32_t id, Kind kind, uint32_t of = 0) {
    At(id).kind = kind;
    At(id).of = of;
  }

  void Declare(uint32_t opcode, Words in) {
    if (opcode == kOpTypeFloat && in.size() == 3 && in[2] == 32) Is(in[1], Kind::kFloat);
    if (opcode == kOpTypeInt && in.size() == 4 && in[2] == 32 && in[3] == 1) Is(in[1], Kind::kInt);
    if (opcode == kOpTypeVector && in.size() == 4 && in[3] == 4) Is(in[1], Kind::kVec4, in[2]);
    if (opcode == kOpTypeImage && in.size() >= 4) has_buffer_images_ |= in[3] == kDimBuffer;
    if (opcode == kOpTypeRuntimeArray && in.size() == 3) Is(in[1], Kind::kArray, in[2]);
    if (opcode == kOpTypeStruct && in.size() == 3) Is(in[1], Kind::kStruct, in[2]);
    if (opcode == kOpTypePointer && in.size() == 4 && in[2] == kStorageBuffer) {
      Is(in[1], Kind::kPointer, in[3]);
    }
    if (opcode == kOpVariable && in.size() >= 4) Is(in[2], Kind::kVariable, in[1]);
    if (opcode == kOpExtInst) {  // debug information, whose variables remain
      for (const uint32_t operand : in.subspan(std::min<size_t>(in.size(), 5))) {
        if (At(operand).kind == Kind::kVariable) Is(operand, Kind::kOther);
      }
    }
    if (opcode == kOpDecorate && in.size() == 4) {
      if (in[2] == kDecorationBinding) At(in[1]).binding = in[3];
      if (in[2] == kDecorationDescriptorSet) At(in[1]).set = in[3];
    }
  }

  // The texel type for a variable that points to a block with an array of 32-bit scalars or vec4s.
  BindingType TexelsOf(const Id& variable) {
    uint32_t type = variable.of;
    for (const Kind kind : {Kind::kPointer, Kind::kStruct, Kind::kArray}) {
      if (At(type).kind != kind) return BindingType::kStorageBuffer;
      type = At(type).of;
    }
    const bool is_vec4 = At(type).kind == Kind::kVec4;
    const Kind scalar = is_vec4 ? At(At(type).of).kind : At(type).kind;
    if (scalar == Kind::kFloat) {
      return is_vec4 ? BindingType::kTexelsF32Vec4 : BindingType::kTexelsF32;
    }
    if (scalar != Kind::kInt) return BindingType::kStorageBuffer;
    return is_vec4 ? BindingType::kTexelsI32Vec4 : BindingType::kTexelsI32;
  }

  void FindBuffers() {
    if (has_buffer_images_) return;
    std::vector<uint32_t> variables(bindings_.size(), 0);  // of each binding
    for (const Id& id : ids_) {
      if (id.binding < variables.size()) ++variables[id.binding];
    }
    for (Id& id : ids_) {
      const bool is_buffer = id.kind == Kind::kVariable && id.set == 0 &&
                             id.binding < bindings_.size() && variables[id.binding] == 1 &&
                             bindings_[id.binding] == BindingType::kStorageBuffer;
      if (is_buffer) id.texels = TexelsOf(id);
    }
  }

  void KeepAsBuffer(uint32_t variable) { At(variable).texels = BindingType::kStorageBuffer; }

  // Records access chains into the buffers. A buffer with any use other than a load is not
  // rewritten. A literal that is misinterpreted as an id only prevents a rewrite.
  void TrackUses(uint32_t opcode, Words in) {
    const auto [literals, ids_again] = LiteralsOf(opcode, in);
    for (size_t i = 1; i < in.size(); ++i) {
      if (i >= literals && i < ids_again) continue;
      const Id& id = At(in[i]);
      const bool is_loaded = opcode == kOpLoad && i == 3 && in.size() == 4;
      if (id.kind == Kind::kChain && !is_loaded) KeepAsBuffer(id.of);
      const bool is_reached = IsChain(opcode, in) && i == 3 && in.size() <= 7;
      if (id.is_rewritten() && !is_reached) KeepAsBuffer(in[i]);
    }
    if (!IsChain(opcode, in) || !At(in[3]).is_rewritten()) return;
    Is(in[2], Kind::kChain, in[3]);
    At(in[2]).index = in[5];
    At(in[2]).component = in.size() == 7 ? in[6] : 0;
  }

  static bool IsFloat(const Id& variable) {
    return variable.texels == BindingType::kTexelsF32 ||
           variable.texels == BindingType::kTexelsF32Vec4;
  }

  // Adds types, then variables, at the end of the declarations: after all ids that they use.
  void AddVariables() {
    for (uint32_t i = 0; i < ids_.size(); ++i) {
      if (!ids_[i].is_rewritten()) continue;
      Image& image = images_[IsFloat(ids_[i]) ? 1 : 0];
      if (image.type == 0) AddImage(image, IsFloat(ids_[i]) ? Kind::kFloat : Kind::kInt);
      Emit(kOpVariable, {image.pointer, i, kUniformConstant});
    }
  }

  struct Image {
    uint32_t type = 0;
    uint32_t pointer = 0;
    uint32_t vec4 = 0;  // result type of a fetch
  };

  void AddImage(Image& image, Kind kind) {
    const auto found = std::ranges::find(ids_, kind, &Id::kind);
    const auto scalar = static_cast<uint32_t>(found - ids_.begin());
    image.type = next_id_++;
    image.pointer = next_id_++;
    Emit(kOpTypeImage, {image.type, scalar, kDimBuffer, 0, 0, 0, /*sampled=*/1, /*format=*/0});
    Emit(kOpTypePointer, {image.pointer, kUniformConstant, image.type});
    for (uint32_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i].kind == Kind::kVec4 && ids_[i].of == scalar) image.vec4 = i;
    }
    if (image.vec4 != 0) return;
    image.vec4 = next_id_++;
    Emit(kOpTypeVector, {image.vec4, scalar, 4});
  }

  // Of the declarations of a rewritten buffer, only the name, binding and set remain.
  bool IsDropped(uint32_t opcode, Words in) {
    if (opcode == kOpVariable && in.size() >= 4) return At(in[2]).is_rewritten();
    if (opcode != kOpDecorate || in.size() < 3 || !At(in[1]).is_rewritten()) return false;
    return in[2] != kDecorationBinding && in[2] != kDecorationDescriptorSet;
  }

  bool Replace(uint32_t opcode, Words in) {
    if (IsChain(opcode, in)) return At(in[3]).is_rewritten();
    if (opcode != kOpLoad || in.size() != 4) return false;
    const Id chain = At(in[3]);
    if (chain.kind != Kind::kChain || !At(chain.of).is_rewritten()) return false;
    Fetch(chain, in[1], in[2]);
    return true;
  }

  void Fetch(const Id& chain, uint32_t type, uint32_t result) {
    const Id& variable = At(chain.of);
    const Image& image = images_[IsFloat(variable) ? 1 : 0];
    const bool is_vec4 = variable.texels == BindingType::kTexelsF32Vec4 ||
                         variable.texels == BindingType::kTexelsI32Vec4;
    const uint32_t loaded = next_id_++;
    Emit(kOpLoad, {image.type, loaded, chain.of});
    if (is_vec4 && chain.component == 0) {
      return Emit(kOpImageFetch, {image.vec4, result, loaded, chain.index});
    }
    const uint32_t texel = next_id_++;
    Emit(kOpImageFetch, {image.vec4, texel, loaded, chain.index});
    if (is_vec4) return Emit(kOpVectorExtractDynamic, {type, result, texel, chain.component});
    Emit(kOpCompositeExtract, {type, result, texel, 0});
  }

  void Emit(uint32_t opcode, std::initializer_list<uint32_t> operands) {
    out_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
    out_.insert(out_.end(), operands);
  }

  Words module_;
  std::vector<BindingType> bindings_;
  std::vector<Id> ids_;
  Id nothing_;
  bool has_buffer_images_ = false;
  std::array<Image, 2> images_;  // of ints, of floats
  uint32_t next_id_ = 0;
  std::vector<uint32_t> out_;
};

}  // namespace

std::vector<BindingType> ReadAsTexels(std::vector<uint32_t>& module,
                                      std::span<const BindingType> bindings) {
  Rewriter rewriter(module, bindings);
  if (!rewriter.Analyze()) return {bindings.begin(), bindings.end()};
  module = rewriter.Rewrite();
  return rewriter.Bindings();
}

}  // namespace spirloom::pack
