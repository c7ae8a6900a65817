#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_INVENTORY_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_INVENTORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::tools {

struct VariantEntry {
  std::string id;
  std::vector<std::string> needs;  // capability names
  pack::StoredModule stored;       // in the library
  uint32_t module;                 // index of the module; variants may share one
  std::span<const pack::BindingType> bindings;
};

struct KernelEntry {
  std::string name;
  std::vector<VariantEntry> variants;
};

struct OpInventory {
  std::string op;
  std::string short_name;
  std::vector<std::string> args;
  std::vector<KernelEntry> kernels;
};

// Sizes in bytes.
struct Totals {
  size_t ops = 0;
  size_t kernels = 0;
  size_t variants = 0;
  size_t variant_bytes = 0;  // without sharing of modules
  size_t modules = 0;        // distinct
  size_t module_bytes = 0;
  size_t stored_bytes = 0;  // of the distinct modules as stored, possibly compressed
};

// Lists the operators of a one-pack index whose name or short name matches `glob`, sorted by name.
std::vector<OpInventory> TakeInventory(const ops::OpIndex& index, const std::string& glob);

Totals Sum(const std::vector<OpInventory>& ops);

// Writes the module of each variant to `directory`/<id>.spv, and creates the directory. The message
// of a failure names the file.
Status ExtractModules(const std::vector<OpInventory>& ops, const std::string& directory);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_INVENTORY_H_
