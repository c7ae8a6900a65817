// Builds valid and invalid shader packs for tests.
#ifndef SPIRLOOM_TESTS_SUPPORT_PACK_BUILDER_H_
#define SPIRLOOM_TESTS_SUPPORT_PACK_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/ops/registry.h"
#include "runtime/pack/pack_format.h"

namespace spirloom::testing {

// The bytes of a pack, aligned as in a file, with access to the fields that tests modify.
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

// A pack with one variant per key, named "variant_<i>". All variants share a module of 6 words.
// `registry` is a result of RegistryOf().
PackBytes MakePack(const std::vector<uint64_t>& keys, const std::string& registry);

// The registry of a library `library` with ops of these names, without arguments and kernels.
std::string RegistryOf(const std::string& library, const std::vector<std::string>& ops,
                       bool overrides = false);

// An op of a registry, valid or invalid. Its outputs are f32 scalars.
struct PackedOperand {
  std::string name;
  bool output = false;
  uint8_t index = 0;
  ops::Access access = ops::Access::kRead;
  Storage storage = Storage::kAuto;
  std::string pack_op = {};  // applied to the tensor
  bool intermediate = false;
};
struct PackedKernel {
  std::string name;
  std::vector<PackedOperand> operands;
};
struct PackedOp {
  std::string name;
  std::vector<std::string> args = {};      // tensors
  std::vector<std::string> defaults = {};  // of arguments, in the format of the registry
  std::vector<PackedKernel> kernels = {};
  size_t outputs = 1;
  uint8_t view_of = 0;                // 1 + the index of the argument; 0: no view
  std::vector<uint8_t> updates = {};  // per output, 1 + the index of the argument updated in place
  std::string short_name = "op";
};
std::string RegistryOfOps(const std::string& library, const std::vector<PackedOp>& ops,
                          bool overrides = false);

// Updates the content digest in the header.
void Reseal(PackBytes& pack);

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_SUPPORT_PACK_BUILDER_H_
