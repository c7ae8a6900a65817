#include "tests/fault_layer/miscompile.h"

#include <cstddef>

namespace spirloom::fault_layer {
namespace {

// Opcodes and extended instructions of the SPIR-V specification.
constexpr uint32_t kExtInst = 12;
constexpr uint32_t kFAdd = 129;
constexpr uint32_t kFSub = 131;
constexpr uint32_t kFMul = 133;
constexpr uint32_t kFMin = 37;
constexpr uint32_t kFMax = 40;
constexpr uint32_t kFma = 50;
constexpr uint32_t kNMin = 79;
constexpr uint32_t kNMax = 80;

constexpr size_t kHeaderWords = 5;

// Replaces the opcode, if it is one on floats; returns whether it did.
bool Replace(uint32_t* instruction) {
  const uint32_t opcode = instruction[0] & 0xffff;
  uint32_t other = 0;
  if (opcode == kFAdd) other = kFSub;
  if (opcode == kFSub || opcode == kFMul) other = kFAdd;
  if (other != 0) {
    instruction[0] = (instruction[0] & 0xffff0000) | other;
    return true;
  }
  if (opcode != kExtInst) return false;
  uint32_t& extended = instruction[4];
  if (extended == kFMax) other = kFMin;
  if (extended == kFMin) other = kFMax;
  if (extended == kNMax) other = kNMin;
  if (extended == kNMin) other = kNMax;
  if (extended == kFma) {
    instruction[7] = instruction[5];  // a * b + a
    return true;
  }
  if (other != 0) extended = other;
  return other != 0;
}

}  // namespace

bool Miscompile(std::vector<uint32_t>& spirv) {
  bool replaced = false;
  for (size_t at = kHeaderWords; at < spirv.size();) {
    const size_t words = spirv[at] >> 16;
    if (words == 0 || words > spirv.size() - at) return false;
    replaced |= Replace(&spirv[at]);
    at += words;
  }
  return replaced;
}

}  // namespace spirloom::fault_layer
