#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/spirloom-ops/inventory.h"

namespace spirloom::tools {

// A table with a row per variant, grouped by operator and kernel, and the totals.
std::string ToTable(const std::vector<OpInventory>& ops);

// {"totals": {…}, "ops": [{"op", "short_name", "args", …, "kernels": [{"name", "variants": [{"id",
// "bytes", "stored_bytes", "module", "needs"}]}]}]}. "…" are the members from `catalog`
// (catalog.h).
std::string ToJson(const std::vector<OpInventory>& ops, std::string_view catalog);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_REPORT_H_
