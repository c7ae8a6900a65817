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

// A library with its validated pack and registry.
struct LoadedLibrary {
  ShaderLibrary library;
  pack::ShaderPack pack;
  Registry registry;

  // Whether its ops replace those of other libraries.
  bool overrides() const { return library.overrides || registry.overrides; }
};

// An op, and the index of its library in OpIndex::libraries().
struct OpEntry {
  const OpInfo* op;
  size_t library;
};

// A compiled kernel, from which a pipeline can be created. Refers to the library.
struct Variant {
  const pack::VariantRow* row;
  std::string_view name;  // "add_f32_buffer"
  pack::StoredModule module;
};

// The ops of several libraries. Immutable, hence thread-safe. Owns the bytes of libraries that have
// an owner.
class OpIndex {
 public:
  OpIndex() = default;  // no ops
  OpIndex(OpIndex&&) = default;
  OpIndex& operator=(OpIndex&&) = default;
  // If several libraries contain an op, the overriding library is used. Fails with kInvalidArgument
  // if there is not exactly one overriding library (the message contains the op and the libraries)
  // or if a library is null; with kInvalidFile for a malformed pack and for recursive packing
  // (packing_check.h).
  static Result<OpIndex> Create(std::span<const ShaderLibrary* const> libraries);

  const std::vector<LoadedLibrary>& libraries() const { return libraries_; }
  // All ops in alphabetical order.
  const std::vector<OpEntry>& ops() const { return ops_; }

  // Capabilities used by any variant: bits of pack::Capability.
  uint64_t needs() const;

  // The op with this name, e.g. "aten.add.Tensor", or null.
  const OpEntry* FindOp(std::string_view name) const;
  // The variant of the entry's kernels with this key (CallFormulas::VariantKey), regardless of the
  // device; absent if it is not in the library.
  std::optional<Variant> FindVariant(const OpEntry& entry, uint64_t key) const;
  // The variants of a kernel of the entry.
  std::span<const pack::VariantRow> VariantsOf(const OpEntry& entry,
                                               const KernelInfo& kernel) const;

 private:
  Status ResolveOverrides();

  std::vector<LoadedLibrary> libraries_;
  std::vector<OpEntry> ops_;
};

// The dtype and the storage in a key.
DType KeyDType(uint64_t key);
Storage KeyStorage(uint64_t key);

// Describes a key, e.g. "softmax for dtype f16, storage texture3d". The codes of further axes are
// appended: ", further axes 1, 0".
std::string DescribeKey(const KernelInfo& kernel, uint64_t key);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_OP_INDEX_H_
