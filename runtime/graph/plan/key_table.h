#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_KEY_TABLE_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_KEY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace spirloom::graph {

// Assigns indices, from 0 on, to distinct lists of int64. A copy has the same indices.
class KeyTable {
 public:
  // Returns the index of `key`, and whether it is new.
  std::pair<uint32_t, bool> Add(std::span<const int64_t> key);
  std::span<const int64_t> operator[](uint32_t index) const {
    const Entry& entry = entries_[index];
    return std::span(values_).subspan(entry.begin, entry.size);
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    uint64_t hash;
    size_t begin;  // in values_
    size_t size;
  };

  void Grow();

  std::vector<int64_t> values_;
  std::vector<Entry> entries_;
  // Hash table with linear probing, at most half full: 1 + the index of an entry, or 0. The size is
  // a power of two.
  std::vector<uint32_t> slots_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_KEY_TABLE_H_
