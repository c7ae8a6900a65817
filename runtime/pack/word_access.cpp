#include "runtime/pack/word_access.h"

namespace spirloom::pack::spirv {
namespace {

constexpr uint32_t kDeviceScope = 1;

// log2 of the bits of an element, and of the elements of a word.
uint32_t BitsLog2(const Element& element) { return element.bits == 8 ? 3 : 4; }
uint32_t PerWordLog2(const Element& element) { return element.bits == 8 ? 2 : 1; }

}  // namespace

uint32_t WordAccess::Op(Code& out, uint32_t opcode, uint32_t left, uint32_t right) {
  return builder_.Result(out, opcode, builder_.Uint(), {left, right});
}

uint32_t WordAccess::OpWith(Code& out, uint32_t opcode, uint32_t left, uint32_t constant) {
  return Op(out, opcode, left, builder_.Constant(constant));
}

uint32_t WordAccess::Component(Code& out, uint32_t type, uint32_t vector, uint32_t i) {
  return builder_.Result(out, kOpCompositeExtract, type, {vector, i});
}

uint32_t WordAccess::Splat(Code& out, uint32_t word) {
  return builder_.Result(out, kOpCompositeConstruct, builder_.Vector(builder_.Uint(), 4),
                         {word, word, word, word});
}

uint32_t WordAccess::WordPointer(Code& out, uint32_t variable, uint32_t index) {
  const uint32_t type = builder_.Type(kOpTypePointer, {kStorageBuffer, builder_.Uint()});
  return builder_.Result(out, kOpAccessChain, type, {variable, builder_.Constant(0), index});
}

WordAccess::Bits WordAccess::BitsOf(Code& out, const ElementPointer& pointer) {
  const uint32_t per_word = PerWordLog2(pointer.element);
  const uint32_t word = OpWith(out, kOpShiftRightLogical, pointer.index, per_word);
  const uint32_t slot = OpWith(out, kOpBitwiseAnd, pointer.index, (1U << per_word) - 1);
  return {word, OpWith(out, kOpShiftLeftLogical, slot, BitsLog2(pointer.element))};
}

WordAccess::Pair WordAccess::PairOf(Code& out, const ElementPointer& pointer) {
  const uint32_t first = OpWith(out, kOpShiftLeftLogical, pointer.index, 1);
  const uint32_t second = OpWith(out, kOpBitwiseOr, first, 1);
  const uint32_t low = WordPointer(out, pointer.variable, first);
  return {low, WordPointer(out, pointer.variable, second)};
}

void WordAccess::Load(Code& out, uint32_t result, const ElementPointer& pointer) {
  const Element& element = pointer.element;
  const uint32_t uint_type = builder_.Uint();
  const auto load = [&](uint32_t word) { return builder_.Result(out, kOpLoad, uint_type, {word}); };
  if (element.count == 1) {
    const Bits bits = BitsOf(out, pointer);
    const uint32_t word = load(WordPointer(out, pointer.variable, bits.word));
    SpirvBuilder::Emit(out, kOpShiftRightLogical, {uint_type, result, word, bits.shift});
  } else if (element.bits == 8) {
    const uint32_t word = WordPointer(out, pointer.variable, pointer.index);
    SpirvBuilder::Emit(out, kOpLoad, {uint_type, result, word});
  } else {
    const Pair words = PairOf(out, pointer);
    const uint32_t low = load(words.low);
    const uint32_t high = load(words.high);
    SpirvBuilder::Emit(out, kOpCompositeConstruct,
                       {builder_.Vector(uint_type, 2), result, low, high});
  }
}

void WordAccess::Decode(Code& out, uint32_t conversion, uint32_t type, uint32_t result,
                        uint32_t value, const Element& element) {
  if (conversion == kOpFConvert) {
    const uint32_t vec2 = builder_.Vector(builder_.Float(), 2);
    const auto unpack = [&](uint32_t word) {
      return builder_.Result(out, kOpExtInst, vec2, {glsl_, kUnpackHalf2x16, word});
    };
    if (element.count == 1)
      return SpirvBuilder::Emit(out, kOpCompositeExtract, {type, result, unpack(value), 0});
    const uint32_t low = unpack(Component(out, builder_.Uint(), value, 0));
    const uint32_t high = unpack(Component(out, builder_.Uint(), value, 1));
    return SpirvBuilder::Emit(out, kOpCompositeConstruct, {type, result, low, high});
  }
  const uint32_t rest = 32 - element.bits;
  if (element.count == 1) {
    if (conversion == kOpUConvert) {
      const uint32_t mask = builder_.Constant((1U << element.bits) - 1);
      return SpirvBuilder::Emit(out, kOpBitwiseAnd, {type, result, value, mask});
    }
    const uint32_t high = OpWith(out, kOpShiftLeftLogical, value, rest);
    return SpirvBuilder::Emit(out, kOpShiftRightArithmetic,
                              {type, result, high, builder_.Constant(rest)});
  }
  const uint32_t words = Splat(out, value);
  const uint32_t uvec4 = builder_.Vector(builder_.Uint(), 4);
  if (conversion == kOpUConvert) {
    const uint32_t low = builder_.Result(out, kOpShiftRightLogical, uvec4,
                                         {words, builder_.Constant4({0, 8, 16, 24})});
    const uint32_t mask = builder_.Constant4({255, 255, 255, 255});
    return SpirvBuilder::Emit(out, kOpBitwiseAnd, {type, result, low, mask});
  }
  const uint32_t high =
      builder_.Result(out, kOpShiftLeftLogical, uvec4, {words, builder_.Constant4({24, 16, 8, 0})});
  const uint32_t shift = builder_.Constant4({rest, rest, rest, rest});
  SpirvBuilder::Emit(out, kOpShiftRightArithmetic, {type, result, high, shift});
}

void WordAccess::Encode(Code& out, uint32_t result, uint32_t value, const Element& element) {
  const uint32_t uint_type = builder_.Uint();
  if (element.is_float && element.count == 1) {
    SpirvBuilder::Emit(out, kOpFunctionCall, {uint_type, result, HalfFunction(), value});
  } else if (element.is_float) {
    const uint32_t low = HalfPair(out, value, 0);
    const uint32_t high = HalfPair(out, value, 2);
    SpirvBuilder::Emit(out, kOpCompositeConstruct,
                       {builder_.Vector(uint_type, 2), result, low, high});
  } else if (element.count == 1) {
    const uint32_t mask = builder_.Constant((1U << element.bits) - 1);
    SpirvBuilder::Emit(out, kOpBitwiseAnd, {uint_type, result, value, mask});
  } else {
    const uint32_t uvec4 = builder_.Vector(uint_type, 4);
    const uint32_t mask = builder_.Constant4({255, 255, 255, 255});
    const uint32_t low = builder_.Result(out, kOpBitwiseAnd, uvec4, {value, mask});
    const uint32_t bytes =
        builder_.Result(out, kOpShiftLeftLogical, uvec4, {low, builder_.Constant4({0, 8, 16, 24})});
    const auto byte = [&](uint32_t i) { return Component(out, uint_type, bytes, i); };
    const uint32_t first = Op(out, kOpBitwiseOr, byte(0), byte(1));
    const uint32_t last = Op(out, kOpBitwiseOr, byte(2), byte(3));
    SpirvBuilder::Emit(out, kOpBitwiseOr, {uint_type, result, first, last});
  }
}

void WordAccess::RoundToHalf(Code& out, uint32_t result, uint32_t value, uint32_t count) {
  const uint32_t float_type = builder_.Float();
  const auto rounded = [&](uint32_t component) {
    return builder_.Result(out, kOpExtInst, builder_.Vector(float_type, 2),
                           {glsl_, kUnpackHalf2x16, Half(out, component)});
  };
  if (count == 1)
    return SpirvBuilder::Emit(out, kOpCompositeExtract, {float_type, result, rounded(value), 0});
  uint32_t vector = value;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t half = rounded(Component(out, float_type, value, i));
    const uint32_t type = builder_.Vector(float_type, count);
    const uint32_t component = Component(out, float_type, half, 0);
    const uint32_t id = i + 1 == count ? result : builder_.NewId();
    SpirvBuilder::Emit(out, kOpCompositeInsert, {type, id, component, vector, i});
    vector = id;
  }
}

void WordAccess::PackHalf2x16(Code& out, uint32_t result, uint32_t value) {
  const uint32_t pair = HalfPair(out, value, 0);
  SpirvBuilder::Emit(out, kOpCopyObject, {builder_.Uint(), result, pair});
}

uint32_t WordAccess::Half(Code& out, uint32_t value) {
  return builder_.Result(out, kOpFunctionCall, builder_.Uint(), {HalfFunction(), value});
}

uint32_t WordAccess::HalfPair(Code& out, uint32_t vector, uint32_t first) {
  const uint32_t low = Half(out, Component(out, builder_.Float(), vector, first));
  const uint32_t high = Half(out, Component(out, builder_.Float(), vector, first + 1));
  return Op(out, kOpBitwiseOr, low, OpWith(out, kOpShiftLeftLogical, high, 16));
}

void WordAccess::Store(Code& out, const ElementPointer& pointer, uint32_t value) {
  const Element& element = pointer.element;
  if (element.count == 1) {
    const Bits bits = BitsOf(out, pointer);
    const uint32_t function = StoreFunctionOf(pointer.variable, element.bits);
    builder_.Result(out, kOpFunctionCall, builder_.Type(kOpTypeVoid, {}),
                    {function, bits.word, bits.shift, value});
  } else if (element.bits == 8) {
    SpirvBuilder::Emit(out, kOpStore, {WordPointer(out, pointer.variable, pointer.index), value});
  } else {
    const Pair words = PairOf(out, pointer);
    const uint32_t low = Component(out, builder_.Uint(), value, 0);
    const uint32_t high = Component(out, builder_.Uint(), value, 1);
    SpirvBuilder::Emit(out, kOpStore, {words.low, low});
    SpirvBuilder::Emit(out, kOpStore, {words.high, high});
  }
}

// Rounds to nearest even. Adding 0.5 to a magnitude below 2^-14 rounds it to a multiple of 2^-24,
// which are the subnormal numbers of fp16.
uint32_t WordAccess::HalfFunction() {
  if (half_function_ != 0) return half_function_;
  const uint32_t uint_type = builder_.Uint();
  const uint32_t float_type = builder_.Float();
  const uint32_t bool_type = builder_.Bool();
  const auto constant = [&](uint32_t bits) { return builder_.Constant(bits); };
  Code& out = functions_;
  const auto select = [&](uint32_t test, uint32_t left, uint32_t right, uint32_t yes, uint32_t no) {
    const uint32_t condition = builder_.Result(out, test, bool_type, {left, right});
    return builder_.Result(out, kOpSelect, uint_type, {condition, yes, no});
  };
  const uint32_t type = builder_.Type(kOpTypeFunction, {uint_type, float_type});
  half_function_ = builder_.Result(out, kOpFunction, uint_type, {/*control=*/0, type});
  const uint32_t value = builder_.Result(out, kOpFunctionParameter, float_type, {});
  SpirvBuilder::Emit(out, kOpLabel, {builder_.NewId()});
  const uint32_t bits = builder_.Result(out, kOpBitcast, uint_type, {value});
  const uint32_t magnitude = OpWith(out, kOpBitwiseAnd, bits, 0x7fffffff);
  const uint32_t top = OpWith(out, kOpShiftRightLogical, bits, 16);
  const uint32_t sign = OpWith(out, kOpBitwiseAnd, top, 0x8000);
  const uint32_t last = OpWith(out, kOpShiftRightLogical, magnitude, 13);
  const uint32_t odd = OpWith(out, kOpBitwiseAnd, last, 1);
  // The exponent's bias is 15 instead of 127.
  const uint32_t rebiased = OpWith(out, kOpIAdd, magnitude, 0xfff - (112U << 23));
  const uint32_t rounded = Op(out, kOpIAdd, rebiased, odd);
  const uint32_t normal = OpWith(out, kOpShiftRightLogical, rounded, 13);
  const uint32_t absolute = builder_.Result(out, kOpBitcast, float_type, {magnitude});
  const uint32_t half = builder_.Constant(float_type, 0x3f000000);
  const uint32_t sum = builder_.Result(out, kOpFAdd, float_type, {absolute, half});
  const uint32_t sum_bits = builder_.Result(out, kOpBitcast, uint_type, {sum});
  const uint32_t subnormal = OpWith(out, kOpISub, sum_bits, 0x3f000000);
  // 65520 and above round to infinity.
  uint32_t result = select(kOpULessThan, magnitude, constant(0x477ff000), normal, constant(0x7c00));
  result = select(kOpULessThan, magnitude, constant(0x38800000), subnormal, result);
  result = select(kOpUGreaterThan, magnitude, constant(0x7f800000), constant(0x7e00), result);
  SpirvBuilder::Emit(out, kOpReturnValue, {Op(out, kOpBitwiseOr, sign, result)});
  SpirvBuilder::Emit(out, kOpFunctionEnd, {});
  return half_function_;
}

// void store(uint index, uint shift, uint value): replaces the bits [shift, shift + bits) of a word
// by those of `value`.
uint32_t WordAccess::StoreFunctionOf(uint32_t variable, uint32_t bits) {
  for (const StoreFunction& known : store_functions_) {
    if (known.variable == variable && known.bits == bits) return known.id;
  }
  const uint32_t uint_type = builder_.Uint();
  const uint32_t void_type = builder_.Type(kOpTypeVoid, {});
  const uint32_t mask = builder_.Constant((1U << bits) - 1);
  Code& out = functions_;
  const auto label = [&](uint32_t id) { SpirvBuilder::Emit(out, kOpLabel, {id}); };
  const uint32_t type =
      builder_.Type(kOpTypeFunction, {void_type, uint_type, uint_type, uint_type});
  const uint32_t id = builder_.Result(out, kOpFunction, void_type, {/*control=*/0, type});
  const uint32_t index = builder_.Result(out, kOpFunctionParameter, uint_type, {});
  const uint32_t shift = builder_.Result(out, kOpFunctionParameter, uint_type, {});
  const uint32_t value = builder_.Result(out, kOpFunctionParameter, uint_type, {});
  const uint32_t entry = builder_.NewId();
  const uint32_t loop = builder_.NewId();
  const uint32_t again = builder_.NewId();
  const uint32_t done = builder_.NewId();
  label(entry);
  const uint32_t pointer = WordPointer(out, variable, index);
  const uint32_t low = Op(out, kOpBitwiseAnd, value, mask);
  const uint32_t written = Op(out, kOpShiftLeftLogical, low, shift);
  const uint32_t covered = Op(out, kOpShiftLeftLogical, mask, shift);
  const uint32_t kept = builder_.Result(out, kOpNot, uint_type, {covered});
  const uint32_t first = builder_.Result(out, kOpLoad, uint_type, {pointer});
  SpirvBuilder::Emit(out, kOpBranch, {loop});
  label(loop);
  const uint32_t actual = builder_.NewId();
  const uint32_t expected = builder_.Result(out, kOpPhi, uint_type, {first, entry, actual, again});
  const uint32_t others = Op(out, kOpBitwiseAnd, expected, kept);
  const uint32_t desired = Op(out, kOpBitwiseOr, others, written);
  const uint32_t relaxed = builder_.Constant(0);
  SpirvBuilder::Emit(out, kOpAtomicCompareExchange,
                     {uint_type, actual, pointer, builder_.Constant(kDeviceScope), relaxed, relaxed,
                      desired, expected});
  const uint32_t stored = builder_.Result(out, kOpIEqual, builder_.Bool(), {actual, expected});
  SpirvBuilder::Emit(out, kOpLoopMerge, {done, again, /*control=*/0});
  SpirvBuilder::Emit(out, kOpBranchConditional, {stored, done, again});
  label(again);
  SpirvBuilder::Emit(out, kOpBranch, {loop});
  label(done);
  SpirvBuilder::Emit(out, kOpReturn, {});
  SpirvBuilder::Emit(out, kOpFunctionEnd, {});
  store_functions_.push_back({variable, bits, id});
  return id;
}

}  // namespace spirloom::pack::spirv
