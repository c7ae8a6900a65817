// spirloom-ops: lists the operators, kernels and variants of the built-in shader library or of a
// file, with their sizes, or prints the kernels that devices select for graphs. Exit codes: 0
// success; 1 unreadable library, graph or device; 2 invalid command line, filter without matches,
// or output that cannot be written.
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "runtime/base/guarded.h"
#include "runtime/graph/record/traits_of_device.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/library.h"
#include "spirloom/runtime.h"
#include "tools/common/process.h"
#include "tools/spirloom-ops/arguments.h"
#include "tools/spirloom-ops/catalog.h"
#include "tools/spirloom-ops/device_file.h"
#include "tools/spirloom-ops/inventory.h"
#include "tools/spirloom-ops/report.h"
#include "tools/spirloom-ops/selection.h"

namespace spirloom::tools {
namespace {

int Fail(const std::string& message, int exit_code) {
  std::fprintf(stderr, "spirloom-ops: error: %s\n", message.c_str());
  return exit_code;
}

// Opens the library of the command line.
Result<ShaderLibrary> OpenLibrary(const OpsArguments& arguments) {
  if (arguments.library.empty()) return AllShaders();
  return ShaderLibrary::Open(arguments.library);
}

int Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) == 0) return 0;
  return Fail("Standard output cannot be written: " + std::generic_category().message(errno) + ".",
              2);
}

// The devices of the command line.
Result<std::vector<DescribedDevice>> Devices(const OpsArguments& arguments,
                                             const ShaderLibrary& library) {
  if (!arguments.devices.empty()) return ReadDevices(arguments.devices);
  RuntimeOptions options;
  options.libraries = {&library};
  options.device = arguments.device;
  options.cache_dir = "none";
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(options));
  return std::vector<DescribedDevice>{
      {runtime.device().name, graph::TraitsOf(*runtime.state()->device)}};
}

Result<std::string> Select(const OpsArguments& arguments, const ShaderLibrary& library,
                           const ops::OpIndex& index) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<DescribedDevice> devices, Devices(arguments, library));
  return SelectionToJson(index, devices, arguments.graphs, arguments.explain);
}

int Main(int argc, char** argv) {
  const ProgramArguments program(argc, argv);
  int exit_code = 0;
  const auto arguments = ParseOpsArguments(program.argc(), program.argv(), &exit_code);
  if (!arguments) return exit_code;
  const auto library = OpenLibrary(*arguments);
  if (!library.ok()) return Fail(library.status().message(), 1);
  const std::array<const ShaderLibrary*, 1> libraries = {&*library};
  const auto index = ops::OpIndex::Create(libraries);
  if (!index.ok()) return Fail(index.status().message(), 1);
  if (!arguments->graphs.empty()) {
    const auto selection = Select(*arguments, *library, *index);
    return selection.ok() ? Print(*selection) : Fail(selection.status().message(), 1);
  }
  const auto inventory = TakeInventory(*index, arguments->op_glob);
  if (inventory.empty()) return Fail("No op matches '" + arguments->op_glob + "'.", 2);
  if (!arguments->extract.empty()) {
    const Status status = ExtractModules(inventory, arguments->extract);
    if (!status.ok()) return Fail(status.message(), 2);
  }
  const std::string_view catalog = arguments->library.empty() ? Catalog() : "{}";
  return Print(arguments->json ? ToJson(inventory, catalog) : ToTable(inventory));
}

}  // namespace
}  // namespace spirloom::tools

int main(int argc, char** argv) {
  try {
    return spirloom::tools::Main(argc, argv);
  } catch (...) {
    std::fprintf(stderr, "spirloom-ops: %s\n", spirloom::StatusOfException().message().c_str());
    return 1;
  }
}
