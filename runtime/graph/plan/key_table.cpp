#include "runtime/graph/plan/key_table.h"

#include <algorithm>

namespace spirloom::graph {
namespace {

constexpr size_t kMinSlots = 64;

uint64_t Hash(std::span<const int64_t> key) {
  uint64_t hash = key.size();
  for (const int64_t value : key) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

std::pair<uint32_t, bool> KeyTable::Add(std::span<const int64_t> key) {
  if (slots_.size() <= 2 * entries_.size()) Grow();
  const uint64_t hash = Hash(key);
  const size_t mask = slots_.size() - 1;
  size_t slot = static_cast<size_t>(hash) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const uint32_t index = slots_[slot] - 1;
    if (entries_[index].hash == hash && std::ranges::equal((*this)[index], key)) {
      return {index, false};
    }
  }
  const auto index = static_cast<uint32_t>(entries_.size());
  slots_[slot] = index + 1;
  entries_.push_back({hash, values_.size(), key.size()});
  values_.insert(values_.end(), key.begin(), key.end());
  return {index, true};
}

void KeyTable::Grow() {
  slots_.assign(std::max(2 * slots_.size(), kMinSlots), 0);
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    size_t slot = static_cast<size_t>(entries_[i].hash) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

}  // namespace spirloom::graph
