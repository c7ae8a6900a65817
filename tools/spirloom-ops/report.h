#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/spirloom-ops/inventory.h"

namespace spirloom::tools {

// A row per variant, grouped by op and kernel, and the totals.
std::string ToTable(const std::vector<OpInventory>& ops);

// {"totals": {…}, "ops": [{"op", "short_name", "args", …, "kernels": [{"name", "variants": [{"id",
// "bytes", "stored_bytes", "module", "needs"}]}]}]}. In between stands what the catalogue
// (catalogue.h) says.
std::string ToJson(const std::vector<OpInventory>& ops, std::string_view catalogue);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_REPORT_H_
