#include "tools/spirloom-ops/report.h"

#include <nlohmann/json.hpp>

#include "tools/common/table.h"

namespace spirloom::tools {
namespace {

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Only the first row of an operator or kernel contains its name.
Table VariantTable(const std::vector<OpInventory>& ops) {
  Table table("<<<><", {"op", "kernel", "variant", "bytes", "needs"});
  for (const OpInventory& op : ops) {
    std::string op_name = op.op;
    for (const KernelEntry& kernel : op.kernels) {
      std::string kernel_name = kernel.name;
      for (const VariantEntry& variant : kernel.variants) {
        table.AddRow({op_name, kernel_name, variant.id, std::to_string(variant.stored.raw_size),
                      Join(variant.needs)});
        op_name.clear();
        kernel_name.clear();
      }
    }
  }
  return table;
}

}  // namespace

std::string ToTable(const std::vector<OpInventory>& ops) {
  const Totals totals = Sum(ops);
  return VariantTable(ops).ToString() + "\n" + std::to_string(totals.ops) + " ops, " +
         std::to_string(totals.kernels) + " kernels, " + std::to_string(totals.variants) +
         " variants (" + std::to_string(totals.variant_bytes) + " bytes), " +
         std::to_string(totals.modules) + " distinct modules (" +
         std::to_string(totals.module_bytes) + " bytes; " + std::to_string(totals.stored_bytes) +
         " as stored)\n";
}

std::string ToJson(const std::vector<OpInventory>& ops, std::string_view catalog) {
  using nlohmann::ordered_json;
  const auto spec_data = ordered_json::parse(catalog);
  const Totals totals = Sum(ops);
  ordered_json root;
  root["totals"] = {{"ops", totals.ops},
                    {"kernels", totals.kernels},
                    {"variants", totals.variants},
                    {"variant_bytes", totals.variant_bytes},
                    {"modules", totals.modules},
                    {"module_bytes", totals.module_bytes},
                    {"stored_bytes", totals.stored_bytes}};
  root["ops"] = ordered_json::array();
  for (const OpInventory& op : ops) {
    ordered_json kernels = ordered_json::array();
    for (const KernelEntry& kernel : op.kernels) {
      ordered_json variants = ordered_json::array();
      for (const VariantEntry& variant : kernel.variants) {
        variants.push_back({{"id", variant.id},
                            {"bytes", variant.stored.raw_size},
                            {"stored_bytes", variant.stored.bytes.size()},
                            {"module", variant.module},
                            {"needs", variant.needs}});
      }
      kernels.push_back({{"name", kernel.name}, {"variants", variants}});
    }
    ordered_json entry = {{"op", op.op}, {"short_name", op.short_name}, {"args", op.args}};
    if (const auto known = spec_data.find(op.op); known != spec_data.end()) entry.update(*known);
    entry["kernels"] = std::move(kernels);
    root["ops"].push_back(std::move(entry));
  }
  return root.dump(2, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spirloom::tools
