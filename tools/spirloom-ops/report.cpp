#include "tools/spirloom-ops/report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace spirloom::tools {
namespace {

using Row = std::array<std::string, 5>;

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Names the op and the kernel in their first row only.
std::vector<Row> Rows(const std::vector<OpInventory>& ops) {
  std::vector<Row> rows = {{"op", "kernel", "variant", "bytes", "needs"}};
  for (const OpInventory& op : ops) {
    std::string op_name = op.op;
    for (const KernelEntry& kernel : op.kernels) {
      std::string kernel_name = kernel.name;
      for (const VariantEntry& variant : kernel.variants) {
        rows.push_back({op_name, kernel_name, variant.id, std::to_string(variant.stored.raw_size),
                        Join(variant.needs)});
        op_name.clear();
        kernel_name.clear();
      }
    }
  }
  return rows;
}

// Aligns the columns; numbers to the right.
std::string Align(const std::vector<Row>& rows) {
  constexpr size_t kNumber = 3;
  std::array<size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i == kNumber ? padding + row[i] : row[i] + padding);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace

std::string ToTable(const std::vector<OpInventory>& ops) {
  const Totals totals = Sum(ops);
  return Align(Rows(ops)) + "\n" + std::to_string(totals.ops) + " ops, " +
         std::to_string(totals.kernels) + " kernels, " + std::to_string(totals.variants) +
         " variants (" + std::to_string(totals.variant_bytes) + " bytes), " +
         std::to_string(totals.modules) + " distinct modules (" +
         std::to_string(totals.module_bytes) + " bytes; " + std::to_string(totals.stored_bytes) +
         " as stored)\n";
}

std::string ToJson(const std::vector<OpInventory>& ops, std::string_view catalogue) {
  using nlohmann::ordered_json;
  const auto facts = ordered_json::parse(catalogue);
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
    if (const auto known = facts.find(op.op); known != facts.end()) entry.update(*known);
    entry["kernels"] = std::move(kernels);
    root["ops"].push_back(std::move(entry));
  }
  return root.dump(2, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spirloom::tools
