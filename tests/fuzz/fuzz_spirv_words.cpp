// Rewrites SPIR-V modules as the runtime does before pipeline creation. An input is the count and
// the types of the bindings, then the words of a module.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "runtime/pack/capability.h"
#include "runtime/pack/f16_rounding.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/pack_format.h"
#include "runtime/pack/spirv_words.h"
#include "runtime/pack/stored_module.h"
#include "runtime/pack/texel_reads.h"
#include "runtime/pack/word_storage.h"
#include "tests/fuzz/fuzzing.h"

namespace {

using namespace spirloom::pack;  // NOLINT: all functions are of this namespace
using spirloom::fuzz::Require;
using Words = std::vector<uint32_t>;

constexpr size_t kHeadBytes = 1 + kMaxBindings + 3;  // the words are aligned

std::vector<BindingType> BindingsIn(std::span<const uint8_t> head) {
  std::vector<BindingType> types(std::min<size_t>(head[0], kMaxBindings));
  for (size_t i = 0; i < types.size(); ++i) {
    types[i] = static_cast<BindingType>(head[1 + i] % kBindingTypeCount);
  }
  return types;
}

Words WordsIn(std::span<const uint8_t> bytes) {
  Words words(bytes.size() / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

bool IsWellFormed(const Words& words) {
  return spirv::ForEachInstruction(std::span(words), [](uint32_t, auto) { return true; });
}

void Rewrite(Words words, std::span<const BindingType> bindings) {
  const size_t size = words.size();
  SetImageTypes(words, bindings);
  Require(words.size() == size, "image types are replaced in place");
  Words again = words;
  SetImageTypes(again, bindings);
  Require(again == words, "replacing image types is idempotent");
  const bool well_formed = IsWellFormed(words);
  const std::vector<BindingType> after = ReadAsTexels(words, bindings);
  Require(after.size() == bindings.size(), "every binding has a type");
  for (size_t i = 0; i < after.size(); ++i) {
    Require(after[i] == bindings[i] || bindings[i] == BindingType::kStorageBuffer,
            "only storage buffers become texel buffers");
  }
  Require(!well_formed || IsWellFormed(words), "a well-formed module remains well-formed");
  Require(well_formed || words == again, "a malformed module is not changed");
  for (const F16Rounding rounding : {F16Rounding::kArithmetic, F16Rounding::kRequestedWithFp32}) {
    Words rounded = again;
    RoundToNearestF16(rounded, rounding);
    Require(well_formed ? IsWellFormed(rounded) : rounded == again,
            "a well-formed module remains well-formed, others are not changed");
  }
  for (const Capability lacking :
       {Capability::kStorageBuffer8Bit, Capability::kStorageBuffer16Bit}) {
    const Words before = again;
    const bool supported = StoreInWords(again, CapabilityBit(lacking)).ok();
    Require(!well_formed || IsWellFormed(again), "a well-formed module remains well-formed");
    Require((well_formed && supported) || again == before, "other modules are not changed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHeadBytes) return 0;
  const std::vector<BindingType> bindings = BindingsIn({data, kHeadBytes});
  Rewrite(WordsIn({data + kHeadBytes, size - kHeadBytes}), bindings);
  return 0;
}

namespace {

// The offsets of a module's instructions, and of its end.
std::vector<size_t> Starts(const Words& words) {
  std::vector<size_t> starts;
  size_t offset = spirv::kHeaderWords;
  while (offset < words.size()) {
    const size_t length = words[offset] >> 16;
    if (length == 0 || length > words.size() - offset) break;
    starts.push_back(offset);
    offset += length;
  }
  starts.push_back(std::min(offset, words.size()));
  return starts;
}

// Removes, duplicates or changes one instruction.
void ChangeInstruction(Words& words, std::mt19937& random) {
  const std::vector<size_t> starts = Starts(words);
  if (starts.size() < 2) return;
  const auto at = [&](size_t i) { return words.begin() + static_cast<std::ptrdiff_t>(i); };
  const size_t i = random() % (starts.size() - 1);
  const Words instruction(at(starts[i]), at(starts[i + 1]));
  const size_t target = starts[random() % starts.size()];
  switch (random() % 5) {
    case 0:
      words.erase(at(starts[i]), at(starts[i + 1]));
      return;
    case 1:
      words.insert(at(target), instruction.begin(), instruction.end());
      return;
    case 2: {  // replace an operand by another word of the module
      const size_t word = starts[i] + random() % instruction.size();
      if (word > starts[i]) words[word] = words[random() % words.size()];
      return;
    }
    case 3: {  // another opcode of the same length
      const size_t other = starts[random() % (starts.size() - 1)];
      words[starts[i]] = (words[starts[i]] & 0xffff0000) | (words[other] & 0xffff);
      return;
    }
    default: {
      const size_t word = starts[i] + random() % instruction.size();
      if (word > starts[i]) words[word] += static_cast<uint32_t>(random() % 3) - 1;
    }
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (size < kHeadBytes || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937 random(seed);
  if (random() % 4 == 0) LLVMFuzzerMutate(data, kHeadBytes, kHeadBytes);
  Words words = WordsIn({data + kHeadBytes, size - kHeadBytes});
  for (auto changes = 1 + random() % 3; changes > 0; --changes) {
    ChangeInstruction(words, random);
  }
  const size_t bytes = words.size() * sizeof(uint32_t);
  if (bytes > max_size - kHeadBytes) return size;
  if (bytes > 0) std::memcpy(data + kHeadBytes, words.data(), bytes);
  return kHeadBytes + bytes;
}
