#include "runtime/ops/op_index.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/sorted_order.h"
#include "runtime/ops/packing_check.h"
#include "runtime/ops/registry_reader.h"

namespace spirloom::ops {
namespace {

uint64_t Axis(uint64_t key, uint32_t i) { return key >> (kAxisBits * i) & ((1U << kAxisBits) - 1); }

Result<LoadedLibrary> ReadLibrary(const ShaderLibrary& library) {
  SPIRLOOM_TRY_ASSIGN(pack::ShaderPack pack,
                      pack::ShaderPack::Open(library.pack, pack::PackCheck::kStructure));
  SPIRLOOM_TRY_ASSIGN(Registry registry, ReadRegistry(pack.registry()));
  return LoadedLibrary{library, std::move(pack), std::move(registry)};
}

Result<LoadedLibrary> LoadLibrary(const ShaderLibrary* library) {
  if (library == nullptr) {
    return Error(StatusCode::kInvalidArgument, "A shader library is null.");
  }
  Result<LoadedLibrary> loaded = ReadLibrary(*library);
  if (loaded.ok()) return loaded;
  return While(std::move(loaded).status(), "opening the shader library '{}'", library->name);
}

Status ConflictError(const OpEntry& a, const OpEntry& b, std::span<const LoadedLibrary> libraries) {
  const auto name = [&](const OpEntry& entry) -> const std::string& {
    return libraries[entry.library].library.name;
  };
  if (libraries[a.library].overrides()) {
    return Error(
        StatusCode::kInvalidArgument,
        "The shader libraries '{}' and '{}' both override the op '{}'. Remove it from one of them.",
        name(a), name(b), a.op->name);
  }
  return Error(StatusCode::kInvalidArgument,
               "The op '{}' is in two shader libraries, '{}' and '{}'. Remove it from one of them, "
               "or let one override (OVERRIDE when it is built, or ShaderLibrary::overrides).",
               a.op->name, name(a), name(b));
}

}  // namespace

Result<OpIndex> OpIndex::Create(std::span<const ShaderLibrary* const> libraries) {
  OpIndex index;
  for (const ShaderLibrary* library : libraries) {
    SPIRLOOM_TRY_ASSIGN(LoadedLibrary loaded, LoadLibrary(library));
    index.libraries_.push_back(std::move(loaded));
  }
  for (size_t i = 0; i < index.libraries_.size(); ++i) {
    for (const OpInfo& op : index.libraries_[i].registry.ops) index.ops_.push_back({&op, i});
  }
  SPIRLOOM_TRY(index.ResolveOverrides());
  SPIRLOOM_TRY(CheckPacking(index));
  return index;
}

Status OpIndex::ResolveOverrides() {
  const auto overrides = [&](const OpEntry& entry) {
    return libraries_[entry.library].overrides();
  };
  const std::vector<size_t> order = SortedOrder(ops_.size(), [&](size_t i, size_t k) {
    const OpEntry& a = ops_[i];
    const OpEntry& b = ops_[k];
    const int names = std::string_view(a.op->name).compare(b.op->name);
    return names != 0 ? names < 0 : overrides(a) && !overrides(b);
  });
  // The first entry of each op is used: the only one, or the only one that overrides.
  std::vector<OpEntry> chosen;
  for (const size_t i : order) {
    const OpEntry& entry = ops_[i];
    if (chosen.empty() || std::string_view(chosen.back().op->name) != entry.op->name) {
      chosen.push_back(entry);
    } else if (overrides(chosen.back()) == overrides(entry)) {
      return ConflictError(chosen.back(), entry, libraries_);
    }
  }
  ops_ = std::move(chosen);
  return {};
}

const OpEntry* OpIndex::FindOp(std::string_view name) const {
  const auto entry = std::ranges::lower_bound(
      ops_, name, {}, [](const OpEntry& e) { return std::string_view(e.op->name); });
  return entry != ops_.end() && name == entry->op->name ? &*entry : nullptr;
}

uint64_t OpIndex::needs() const {
  uint64_t needs = 0;
  for (const LoadedLibrary& library : libraries_) {
    for (const pack::VariantRow& row : library.pack.variants()) needs |= row.needs;
  }
  return needs;
}

std::optional<Variant> OpIndex::FindVariant(const OpEntry& entry, uint64_t key) const {
  const pack::ShaderPack& pack = libraries_[entry.library].pack;
  const pack::VariantRow* row = pack.Find(key);
  if (row == nullptr) return std::nullopt;
  return Variant{row, pack.Name(*row), pack.Module(*row)};
}

std::span<const pack::VariantRow> OpIndex::VariantsOf(const OpEntry& entry,
                                                      const KernelInfo& kernel) const {
  const std::span<const pack::VariantRow> rows = libraries_[entry.library].pack.variants();
  const auto kernel_of = [](const pack::VariantRow& row) { return row.key >> 32; };
  const uint64_t index = kernel.index;
  return {std::ranges::lower_bound(rows, index, {}, kernel_of),
          std::ranges::upper_bound(rows, index, {}, kernel_of)};
}

DType KeyDType(uint64_t key) { return static_cast<DType>(Axis(key, 0)); }

Storage KeyStorage(uint64_t key) { return static_cast<Storage>(Axis(key, 1)); }

std::string DescribeKey(const KernelInfo& kernel, uint64_t key) {
  std::string text = Format("{} for dtype {}, storage {}", kernel.name, ShortName(KeyDType(key)),
                            Name(KeyStorage(key)));
  uint32_t last = kMaxAxes;
  while (last > 2 && Axis(key, last - 1) == 0) --last;
  for (uint32_t i = 2; i < last; ++i) {
    text += Concat((i == 2 ? ", further axes " : ", "), Axis(key, i));
  }
  return text;
}

}  // namespace spirloom::ops
