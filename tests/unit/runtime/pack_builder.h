// Makes shader packs for tests, well-formed or not.
#ifndef SPIRLOOM_TESTS_UNIT_RUNTIME_PACK_BUILDER_H_
#define SPIRLOOM_TESTS_UNIT_RUNTIME_PACK_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/pack/pack_format.h"

namespace spirloom::testing {

// The bytes of a pack with a copy of each field that tests alter. Aligned as a real one.
class PackBytes {
 public:
  explicit PackBytes(size_t size) : size_(size), words_((size + 7) / 8) {}

  std::span<std::byte> bytes() { return {reinterpret_cast<std::byte*>(words_.data()), size_}; }
  pack::PackHeader& header() { return At<pack::PackHeader>(0, 0); }
  pack::VariantRow& variant(size_t i) { return At<pack::VariantRow>(header().variants_offset, i); }
  pack::ModuleRow& module(size_t i) { return At<pack::ModuleRow>(header().modules_offset, i); }

 private:
  template <typename T>
  T& At(size_t offset, size_t i) {
    return *reinterpret_cast<T*>(bytes().data() + offset + i * sizeof(T));
  }

  size_t size_;
  std::vector<uint64_t> words_;
};

// A pack with one variant per key, named "variant_<i>", all of one 6-word module. `registry` as
// RegistryOf makes it.
PackBytes MakePack(const std::vector<uint64_t>& keys, const std::string& registry);

// The registry of a library `library` with ops of these names, which take nothing and have no
// kernels.
std::string RegistryOf(const std::string& library, const std::vector<std::string>& ops,
                       bool overrides = false);

// Gives the header the content digest of the bytes as they are.
void Reseal(PackBytes& pack);

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_UNIT_RUNTIME_PACK_BUILDER_H_
