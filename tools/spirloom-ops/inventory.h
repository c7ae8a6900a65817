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
  uint32_t module;                 // variants with the same number share their bytes
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
  size_t variant_bytes = 0;  // as if each variant had a module of its own
  size_t modules = 0;        // distinct
  size_t module_bytes = 0;
  size_t stored_bytes = 0;  // of the distinct modules, compressed where they are
};

// The ops of a library of one pack whose name or short name matches `glob`, in order of name.
std::vector<OpInventory> TakeInventory(const ops::OpIndex& index, const std::string& glob);

Totals Sum(const std::vector<OpInventory>& ops);

// Writes each variant's module to `folder`/<id>.spv, making the folder. Fails naming the file that
// cannot be written.
Status ExtractModules(const std::vector<OpInventory>& ops, const std::string& folder);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_INVENTORY_H_
