#include "tools/spirloom-ops/inventory.h"

#include <filesystem>
#include <map>

#include "runtime/base/file_writer.h"
#include "runtime/base/path.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/image_types.h"
#include "tools/spirloom-ops/arguments.h"

namespace spirloom::tools {
namespace {

KernelEntry DescribeKernel(const pack::ShaderPack& pack, const ops::KernelInfo& kernel) {
  KernelEntry entry{kernel.name, {}};
  for (const pack::VariantRow& row : pack.variants()) {
    if (row.key >> 32 != kernel.index) continue;
    entry.variants.push_back({std::string(pack.Name(row)), pack::CapabilityNames(row.needs),
                              pack.Module(row), row.module, pack::BindingTypesOf(row)});
  }
  return entry;
}

Status WriteModule(const std::filesystem::path& path, std::span<const uint32_t> spirv) {
  return ReplaceFile(PathText(path), {std::as_bytes(spirv)}, Durability::kFast);
}

}  // namespace

std::vector<OpInventory> TakeInventory(const ops::OpIndex& index, const std::string& glob) {
  std::vector<OpInventory> inventory;
  for (const ops::OpEntry& entry : index.ops()) {
    const ops::OpInfo& op = *entry.op;
    if (!MatchesGlob(glob, op.name) && !MatchesGlob(glob, op.short_name)) continue;
    OpInventory& item = inventory.emplace_back(OpInventory{op.name, op.short_name, {}, {}});
    for (const ops::ArgInfo& arg : op.args) item.args.emplace_back(arg.name);
    for (const ops::KernelInfo& kernel : op.kernels) {
      item.kernels.push_back(DescribeKernel(index.libraries()[entry.library].pack, kernel));
    }
  }
  return inventory;
}

Totals Sum(const std::vector<OpInventory>& ops) {
  Totals totals;
  std::map<uint32_t, const pack::StoredModule*> modules;
  totals.ops = ops.size();
  for (const OpInventory& op : ops) {
    totals.kernels += op.kernels.size();
    for (const KernelEntry& kernel : op.kernels) {
      totals.variants += kernel.variants.size();
      for (const VariantEntry& variant : kernel.variants) {
        totals.variant_bytes += variant.stored.raw_size;
        modules[variant.module] = &variant.stored;
      }
    }
  }
  totals.modules = modules.size();
  for (const auto& [index, module] : modules) {
    totals.module_bytes += module->raw_size;
    totals.stored_bytes += module->bytes.size();
  }
  return totals;
}

Status ExtractModules(const std::vector<OpInventory>& ops, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(ToPath(directory), error);
  if (error) {
    return {StatusCode::kInvalidArgument,
            "The directory '" + directory + "' cannot be created: " + error.message() + "."};
  }
  for (const OpInventory& op : ops) {
    for (const KernelEntry& kernel : op.kernels) {
      for (const VariantEntry& variant : kernel.variants) {
        SPIRLOOM_TRY_ASSIGN(const std::vector<uint32_t> spirv,
                            pack::ReadModule(variant.stored, variant.bindings));
        const std::filesystem::path file = ToPath(variant.id + ".spv");
        if (file.has_parent_path()) {
          return {StatusCode::kInvalidFile,
                  "The variant id '" + variant.id + "' contains a directory."};
        }
        SPIRLOOM_TRY(WriteModule(ToPath(directory) / file, spirv));
      }
    }
  }
  return {};
}

}  // namespace spirloom::tools
