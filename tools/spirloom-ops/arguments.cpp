#include "tools/spirloom-ops/arguments.h"

#include <CLI/CLI.hpp>

namespace spirloom::tools {
namespace {

// The exit code for invalid usage, as in the other tools.
constexpr int kUsageError = 2;

}  // namespace

std::optional<OpsArguments> ParseOpsArguments(int argc, const char* const* argv, int* exit_code) {
  OpsArguments arguments;
  CLI::App app(
      "Lists the operators, kernels and shader variants of a shader library, or the kernels that "
      "devices select.\n");
  app.allow_windows_style_options(false);  // the same on every platform: /file is a path
  app.add_flag("--json", arguments.json, "Print JSON instead of a table");
  app.add_option("--op", arguments.op_glob,
                 "Only operators whose name (aten.add.Tensor) or short name (add) matches; * and ? "
                 "are wildcards")
      ->type_name("GLOB");
  app.add_option("--extract", arguments.extract, "Write each variant's SPIR-V to DIR/<id>.spv")
      ->type_name("DIR");
  app.add_option("--library", arguments.library,
                 "Shader library (.slpack) to list instead of the built-in library")
      ->type_name("FILE");
  CLI::Option* graphs =
      app.add_option("--select", arguments.graphs,
                     "Print the kernels that are selected for the calls of graph files, as JSON")
          ->type_name("GRAPH");
  CLI::Option* devices = app.add_option("--devices", arguments.devices,
                                        "With --select: for each device that a JSON file describes")
                             ->needs(graphs)
                             ->type_name("FILE");
  app.add_option("--device", arguments.device,
                 "With --select: for a device of this machine, by name, index or identifier")
      ->needs(graphs)
      ->excludes(devices)
      ->type_name("DEVICE");
  app.add_flag("--explain", arguments.explain, "With --select: with all considered kernels")
      ->needs(graphs);
  app.footer("Example: spirloom-ops --op '*pool2d' --extract shaders");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : kUsageError;
    return std::nullopt;
  }
  return arguments;
}

}  // namespace spirloom::tools
