// spirloom-ops: what the shader library of this build holds: ops, kernels, variants and their
// bytes. Exit codes: 0; 1 for a library that cannot be read; 2 for a wrong command line, a filter
// that fits nothing, or a folder that cannot be written.
#include <array>
#include <cstdio>

#include "spirloom/library.h"
#include "tools/spirloom-ops/arguments.h"
#include "tools/spirloom-ops/catalogue.h"
#include "tools/spirloom-ops/inventory.h"
#include "tools/spirloom-ops/report.h"

namespace spirloom::tools {
namespace {

int Fail(const std::string& message, int exit_code) {
  std::fprintf(stderr, "spirloom-ops: error: %s\n", message.c_str());
  return exit_code;
}

int Main(int argc, char** argv) {
  int exit_code = 0;
  const auto arguments = ParseOpsArguments(argc, argv, &exit_code);
  if (!arguments) return exit_code;
  const std::array<const ShaderLibrary*, 1> libraries = {&AllShaders()};
  const auto index = ops::OpIndex::Create(libraries);
  if (!index.ok()) return Fail(index.status().message(), 1);
  const auto inventory = TakeInventory(*index, arguments->op_glob);
  if (inventory.empty()) return Fail("No op matches '" + arguments->op_glob + "'.", 2);
  if (!arguments->extract.empty()) {
    const Status status = ExtractModules(inventory, arguments->extract);
    if (!status.ok()) return Fail(status.message(), 2);
  }
  const std::string report = arguments->json ? ToJson(inventory, Catalogue()) : ToTable(inventory);
  std::fputs(report.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace spirloom::tools

int main(int argc, char** argv) { return spirloom::tools::Main(argc, argv); }
