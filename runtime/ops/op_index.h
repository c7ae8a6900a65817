#ifndef SPIRLOOM_RUNTIME_OPS_OP_INDEX_H_
#define SPIRLOOM_RUNTIME_OPS_OP_INDEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/registry.h"
#include "runtime/pack/shader_pack.h"
#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// A library, its checked pack and what that says of the ops.
struct LoadedLibrary {
  ShaderLibrary library;
  pack::ShaderPack pack;
  Registry registry;

  // Whether its ops replace those of other libraries.
  bool overrides() const { return library.overrides || registry.overrides; }
};

// An op and the library (an index into OpIndex::libraries()) that its kernels' variants are in.
struct OpEntry {
  const OpInfo* op;
  size_t library;
};

// A compiled kernel, ready to become a pipeline. Refers to the library.
struct Variant {
  const pack::VariantRow* row;
  std::string_view name;  // "add_f32_buffer"
  pack::StoredModule module;
};

// The ops of several libraries as one. Immutable, so thread-safe. Keeps the libraries' bytes, but
// for those without an owner.
class OpIndex {
 public:
  OpIndex() = default;  // no ops
  OpIndex(OpIndex&&) = default;
  OpIndex& operator=(OpIndex&&) = default;
  // Of an op that several libraries have, the one counts whose library overrides. Fails with
  // kInvalidArgument when none does or two do (naming op and libraries) or a library is null; with
  // kInvalidFile for a malformed pack, and for ops that need themselves to bring their operands
  // into form (packing_check.h).
  static Result<OpIndex> Create(std::span<const ShaderLibrary* const> libraries);

  const std::vector<LoadedLibrary>& libraries() const { return libraries_; }
  // All ops in order of name.
  const std::vector<OpEntry>& ops() const { return ops_; }

  // What any of the variants needs of a device: bits of pack::Capability.
  uint64_t needs() const;

  // The op of this name ("aten.add.Tensor"), or null.
  const OpEntry* FindOp(std::string_view name) const;
  // The variant of one of the entry's kernels with this key (CallFormulas::VariantKey), whatever
  // the device needs for it; absent when the library does not hold it.
  std::optional<Variant> FindVariant(const OpEntry& entry, uint64_t key) const;

 private:
  Status ChooseAmongLibraries();

  std::vector<LoadedLibrary> libraries_;
  std::vector<OpEntry> ops_;
};

// The values of the axes dtype and storage in a key.
DType KeyDType(uint64_t key);
Storage KeyStorage(uint64_t key);

// Says a key in words, e.g. "softmax for dtype f16, storage texture3d". Axes after the first two
// are given as numbers: ", further axes 1, 0".
std::string DescribeKey(const KernelInfo& kernel, uint64_t key);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_OP_INDEX_H_
