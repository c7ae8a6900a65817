#include "runtime/ops/texel_reads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "runtime/ops/spirv_words.h"

namespace spirloom::ops {
namespace {

using namespace spirv;  // NOLINT(google-build-using-namespace): the specification's names

using Words = std::span<const uint32_t>;

// What a buffer is an array of.
struct Element {
  uint32_t scalar = 0;  // the id of a 32-bit float or signed int
  bool is_float = false;
  bool is_vec4 = false;

  BindingType texels() const {
    if (is_float) return is_vec4 ? BindingType::kTexelsF32Vec4 : BindingType::kTexelsF32;
    return is_vec4 ? BindingType::kTexelsI32Vec4 : BindingType::kTexelsI32;
  }
};

// The declarations of a module that matter here.
struct Declarations {
  std::map<uint32_t, bool> scalars;                               // id -> is it a float
  std::map<uint32_t, uint32_t> vec4s;                             // id -> its component type
  std::map<uint32_t, uint32_t> arrays;                            // runtime array -> element
  std::map<uint32_t, uint32_t> structs;                           // of one member -> that member
  std::map<uint32_t, uint32_t> pointers;                          // into storage buffers -> pointee
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> decorations;  // variable -> binding, set
  std::map<uint32_t, uint32_t> variables;                         // variable -> pointer
  bool has_buffer_images = false;

  void Visit(uint32_t opcode, Words in) {
    if (opcode == kOpTypeFloat && in.size() == 3 && in[2] == 32) scalars[in[1]] = true;
    if (opcode == kOpTypeInt && in.size() == 4 && in[2] == 32 && in[3] == 1) scalars[in[1]] = false;
    if (opcode == kOpTypeVector && in.size() == 4 && in[3] == 4) vec4s[in[1]] = in[2];
    if (opcode == kOpTypeImage && in.size() >= 4) has_buffer_images |= in[3] == kDimBuffer;
    if (opcode == kOpTypeRuntimeArray && in.size() == 3) arrays[in[1]] = in[2];
    if (opcode == kOpTypeStruct && in.size() == 3) structs[in[1]] = in[2];
    if (opcode == kOpTypePointer && in.size() == 4 && in[2] == kStorageBuffer) {
      pointers[in[1]] = in[3];
    }
    if (opcode == kOpDecorate && in.size() == 4) {
      if (in[2] == kDecorationBinding) decorations[in[1]].first = in[3];
      if (in[2] == kDecorationDescriptorSet) decorations[in[1]].second = in[3];
    }
    if (opcode == kOpVariable && in.size() >= 4) variables[in[2]] = in[1];
  }

  std::optional<Element> ElementOf(uint32_t pointer) const {
    const auto follow = [](const auto& types, uint32_t id) {
      const auto found = types.find(id);
      return found == types.end() ? 0 : found->second;
    };
    const uint32_t type = follow(arrays, follow(structs, follow(pointers, pointer)));
    const uint32_t component = follow(vec4s, type);
    Element element;
    element.is_vec4 = component != 0;
    element.scalar = element.is_vec4 ? component : type;
    const auto scalar = scalars.find(element.scalar);
    if (scalar == scalars.end()) return std::nullopt;
    element.is_float = scalar->second;
    return element;
  }
};

struct Buffer {
  uint32_t binding;
  Element element;
};

// A pointer to an element, or to a component of one.
struct Chain {
  uint32_t variable;
  uint32_t index;
  uint32_t component;  // an id; 0: the whole element
};

// The places of an instruction's words that are no ids, as far as they matter: [first, last).
std::pair<size_t, size_t> LiteralsOf(uint32_t opcode, Words in) {
  if (opcode == kOpExtInst) return {4, 5};
  if (opcode == kOpCompositeExtract) return {4, in.size()};
  if (opcode == kOpCompositeInsert || opcode == kOpVectorShuffle) return {5, in.size()};
  return {in.size(), in.size()};
}

class Rewriter {
 public:
  Rewriter(Words module, std::span<const BindingType> bindings)
      : module_(module), bindings_(bindings) {}

  // Whether there is anything to rewrite.
  bool Analyse() {
    bool in_functions = false;
    uint32_t last = 0;
    const bool whole = ForEachInstruction(module_, [&](uint32_t opcode, Words in) {
      if (opcode == kOpFunction && !in_functions) {
        in_functions = true;
        FindBuffers();
      }
      if (in_functions) {
        Note(opcode, in);
      } else {
        declared_.Visit(opcode, in);
      }
      last = opcode;
      return true;
    });
    return whole && last == kOpFunctionEnd && !buffers_.empty();
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
      if (opcode == kOpFunction && !std::exchange(in_functions, true)) Declare();
      if (!(in_functions ? Replace(opcode, in) : IsDropped(opcode, in))) {
        out_.insert(out_.end(), in.begin(), in.end());
      }
      return true;
    });
    out_[kIdBound] = next_id_;
    return std::move(out_);
  }

  std::vector<BindingType> Bindings() const {
    std::vector<BindingType> types(bindings_.begin(), bindings_.end());
    for (const auto& [id, buffer] : buffers_) types[buffer.binding] = buffer.element.texels();
    return types;
  }

 private:
  void FindBuffers() {
    if (declared_.has_buffer_images) return;
    std::map<uint32_t, int> variables_of;  // binding -> how many
    for (const auto& [id, decoration] : declared_.decorations) ++variables_of[decoration.first];
    for (const auto& [id, pointer] : declared_.variables) {
      const auto decoration = declared_.decorations.find(id);
      if (decoration == declared_.decorations.end()) continue;
      const auto [binding, set] = decoration->second;
      if (set != 0 || binding >= bindings_.size() || variables_of[binding] != 1) continue;
      if (bindings_[binding] != BindingType::kStorageBuffer) continue;
      if (const auto element = declared_.ElementOf(pointer)) buffers_[id] = {binding, *element};
    }
  }

  // Learns the pointers into the buffers; a buffer is none of ours if anything else than a load
  // refers to it. A literal taken for an id leaves a buffer alone at worst.
  void Note(uint32_t opcode, Words in) {
    const bool is_chain = opcode == kOpAccessChain || opcode == kOpInBoundsAccessChain;
    const auto [literals, ids_again] = LiteralsOf(opcode, in);
    for (size_t i = 1; i < in.size(); ++i) {
      if (i >= literals && i < ids_again) continue;
      if (const auto chain = chains_.find(in[i]); chain != chains_.end()) {
        if (opcode != kOpLoad || i != 3 || in.size() != 4) buffers_.erase(chain->second.variable);
      }
      if (!buffers_.contains(in[i])) continue;
      const bool reaches = is_chain && i == 3 && (in.size() == 6 || in.size() == 7);
      if (!reaches) buffers_.erase(in[i]);
    }
    if (is_chain && in.size() >= 6 && buffers_.contains(in[3])) {
      chains_[in[2]] = {in[3], in[5], in.size() == 7 ? in[6] : 0};
    }
  }

  // Types, then the variables, at the end of the declarations: behind all that they refer to.
  void Declare() {
    for (const auto& [id, buffer] : buffers_) {
      const uint32_t scalar = buffer.element.scalar;
      if (!images_.contains(scalar)) {
        const uint32_t image = next_id_++;
        const uint32_t pointer = next_id_++;
        Emit(kOpTypeImage, {image, scalar, kDimBuffer, 0, 0, 0, /*sampled=*/1, /*format=*/0});
        Emit(kOpTypePointer, {pointer, kUniformConstant, image});
        images_[scalar] = {image, pointer, Vec4Of(scalar)};
      }
      Emit(kOpVariable, {images_[scalar].pointer, id, kUniformConstant});
    }
  }

  uint32_t Vec4Of(uint32_t scalar) {
    for (const auto& [id, component] : declared_.vec4s) {
      if (component == scalar) return id;
    }
    const uint32_t id = next_id_++;
    Emit(kOpTypeVector, {id, scalar, 4});
    return id;
  }

  // Of a buffer's declarations only its name, binding and set are kept.
  bool IsDropped(uint32_t opcode, Words in) const {
    if (opcode == kOpVariable && in.size() >= 4) return buffers_.contains(in[2]);
    if (opcode != kOpDecorate || in.size() < 3 || !buffers_.contains(in[1])) return false;
    return in[2] != kDecorationBinding && in[2] != kDecorationDescriptorSet;
  }

  bool Replace(uint32_t opcode, Words in) {
    if (opcode == kOpAccessChain || opcode == kOpInBoundsAccessChain) {
      return in.size() >= 6 && buffers_.contains(in[3]);
    }
    if (opcode != kOpLoad || in.size() != 4) return false;
    const auto chain = chains_.find(in[3]);
    if (chain == chains_.end() || !buffers_.contains(chain->second.variable)) return false;
    Fetch(chain->second, in[1], in[2]);
    return true;
  }

  void Fetch(const Chain& chain, uint32_t type, uint32_t result) {
    const Element& element = buffers_.at(chain.variable).element;
    const Image& image = images_.at(element.scalar);
    const uint32_t loaded = next_id_++;
    Emit(kOpLoad, {image.type, loaded, chain.variable});
    if (element.is_vec4 && chain.component == 0) {
      return Emit(kOpImageFetch, {image.vec4, result, loaded, chain.index});
    }
    const uint32_t texel = next_id_++;
    Emit(kOpImageFetch, {image.vec4, texel, loaded, chain.index});
    if (element.is_vec4) {
      return Emit(kOpVectorExtractDynamic, {type, result, texel, chain.component});
    }
    Emit(kOpCompositeExtract, {type, result, texel, 0});
  }

  void Emit(uint32_t opcode, std::initializer_list<uint32_t> operands) {
    out_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
    out_.insert(out_.end(), operands);
  }

  struct Image {
    uint32_t type;
    uint32_t pointer;
    uint32_t vec4;  // what a fetch gives
  };

  Words module_;
  std::span<const BindingType> bindings_;
  Declarations declared_;
  std::map<uint32_t, Buffer> buffers_;  // by variable
  std::map<uint32_t, Chain> chains_;    // by result
  std::map<uint32_t, Image> images_;    // by scalar type
  uint32_t next_id_ = 0;
  std::vector<uint32_t> out_;
};

}  // namespace

std::vector<BindingType> ReadAsTexels(std::vector<uint32_t>& module,
                                      std::span<const BindingType> bindings) {
  Rewriter rewriter(module, bindings);
  if (!rewriter.Analyse()) return {bindings.begin(), bindings.end()};
  module = rewriter.Rewrite();
  return rewriter.Bindings();
}

}  // namespace spirloom::ops
