// Access to elements of 8 and 16 bits in buffers of 32-bit words, as SPIR-V instructions.
#ifndef SPIRLOOM_RUNTIME_PACK_WORD_ACCESS_H_
#define SPIRLOOM_RUNTIME_PACK_WORD_ACCESS_H_

#include <cstdint>
#include <vector>

#include "runtime/pack/spirv_builder.h"

namespace spirloom::pack::spirv {

// The type of an element: a scalar or a vec4 of integers or of fp16. 16-bit integers have no
// vec4s.
struct Element {
  uint32_t bits = 0;   // 8 or 16
  uint32_t count = 0;  // 1 or 4
  bool is_float = false;

  bool operator==(const Element&) const = default;
};

// An element of a storage buffer: a block whose only member is a runtime array of words.
struct ElementPointer {
  uint32_t variable;
  uint32_t index;  // in elements; the id of a 32-bit integer
  Element element;
};

// Emits the instructions. An element is represented by an id of type uint, of which only the low
// bits of a scalar are defined, or uvec2 for a vec4 of fp16.
class WordAccess {
 public:
  // `glsl` is the id of GLSL.std.450.
  WordAccess(SpirvBuilder& builder, uint32_t glsl) : builder_(builder), glsl_(glsl) {}

  // Appends instructions to `out` that define `result`:
  // the representation of the element that `pointer` addresses;
  void Load(std::vector<uint32_t>& out, uint32_t result, const ElementPointer& pointer);
  // the value of `element` as `type` of 32-bit scalars, by OpUConvert, OpSConvert or OpFConvert;
  void Decode(std::vector<uint32_t>& out, uint32_t conversion, uint32_t type, uint32_t result,
              uint32_t value, const Element& element);
  // the representation of `value`, which has 32-bit scalars;
  void Encode(std::vector<uint32_t>& out, uint32_t result, uint32_t value, const Element& element);
  // `value`, a vector of `count` floats or a float, rounded to nearest even fp16;
  void RoundToHalf(std::vector<uint32_t>& out, uint32_t result, uint32_t value, uint32_t count);
  // packHalf2x16(value), rounded to nearest even.
  void PackHalf2x16(std::vector<uint32_t>& out, uint32_t result, uint32_t value);
  // Appends instructions that store the representation `value`.
  void Store(std::vector<uint32_t>& out, const ElementPointer& pointer, uint32_t value);

  // The functions that the instructions call, for the end of the module.
  const std::vector<uint32_t>& functions() const { return functions_; }

 private:
  // A function that stores scalars of `bits` bits in `variable`.
  struct StoreFunction {
    uint32_t variable;
    uint32_t bits;
    uint32_t id;
  };
  using Code = std::vector<uint32_t>;
  // Ids: the index of a scalar's word, and the position of its lowest bit.
  struct Bits {
    uint32_t word;
    uint32_t shift;
  };
  // Ids: pointers to the words of a vec4 of fp16.
  struct Pair {
    uint32_t low;
    uint32_t high;
  };

  Bits BitsOf(Code& out, const ElementPointer& pointer);
  Pair PairOf(Code& out, const ElementPointer& pointer);

  uint32_t Splat(Code& out, uint32_t word);
  uint32_t WordPointer(Code& out, uint32_t variable, uint32_t index);
  uint32_t Op(Code& out, uint32_t opcode, uint32_t left, uint32_t right);
  uint32_t OpWith(Code& out, uint32_t opcode, uint32_t left, uint32_t constant);
  uint32_t Component(Code& out, uint32_t type, uint32_t vector, uint32_t i);
  // The fp16 bits of a float, in a uint.
  uint32_t Half(Code& out, uint32_t value);
  // The words of two pairs of components of a vector of `count` floats.
  uint32_t HalfPair(Code& out, uint32_t vector, uint32_t first);
  uint32_t HalfFunction();
  uint32_t StoreFunctionOf(uint32_t variable, uint32_t bits);

  SpirvBuilder& builder_;
  uint32_t glsl_;
  uint32_t half_function_ = 0;
  std::vector<StoreFunction> store_functions_;
  Code functions_;
};

}  // namespace spirloom::pack::spirv

#endif  // SPIRLOOM_RUNTIME_PACK_WORD_ACCESS_H_
