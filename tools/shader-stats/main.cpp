// spirloom-shader-stats: compiles every variant of a shader library with a device's driver and
// prints the driver's statistics (registers, spills, code size …) as tab-separated values, or
// writes the pipelines to a file of Fossilize. Exit codes: 0 success; 1 unreadable library, no such
// device, a variant that the driver refuses, or a file that cannot be written; 2 invalid command
// line.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/ops/op_index.h"
#include "spirloom/library.h"
#include "tools/shader-stats/fossilize.h"
#include "tools/shader-stats/statistics_device.h"
#include "tools/shader-stats/variant_statistics.h"

namespace spirloom::tools {
namespace {

struct Arguments {
  std::string library;
  std::string device;
  std::string fossilize;
  std::string variants;
};

// "# DEVICE, DRIVER", a heading, and a row per variant: op, kernel, variant, failure, and the
// driver's statistics.
std::string ToTsv(const DeviceInfo& device, const std::vector<VariantStatistics>& variants) {
  std::string text = "# " + device.name + ", " + device.driver + "\nop\tkernel\tvariant\tfailure";
  for (const VariantStatistics& variant : variants) {
    if (variant.values.empty()) continue;
    for (const auto& [name, value] : variant.values) text += '\t' + name;
    break;
  }
  text += '\n';
  for (const VariantStatistics& variant : variants) {
    text += variant.op + '\t' + variant.kernel + '\t' + variant.variant + '\t' + variant.failure;
    for (const auto& [name, value] : variant.values) text += '\t' + value;
    text += '\n';
  }
  return text;
}

// The lines of a file.
Result<std::set<std::string>> NamesIn(const std::string& path) {
  std::ifstream file(path);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) names.insert(line);
  if (!file.eof()) return Error(StatusCode::kNotFound, "'{}' cannot be read.", path);
  return names;
}

// The statistics of the library's variants on the device of the command line, or the pipelines in
// the file of the command line.
Result<std::string> Compile(const Arguments& arguments, const ShaderLibrary& library,
                            size_t& refused) {
  const std::array<const ShaderLibrary*, 1> libraries = {&library};
  SPIRLOOM_TRY_ASSIGN(const ops::OpIndex index, ops::OpIndex::Create(libraries));
  if (!arguments.fossilize.empty()) return ExportVariants(index, arguments.fossilize);
  SPIRLOOM_TRY_ASSIGN(const std::unique_ptr<StatisticsDevice> device,
                      StatisticsDevice::Create(arguments.device, index.needs()));
  std::fprintf(stderr, "%s\n", device->device().physical().info.name.c_str());
  std::set<std::string> names;
  if (!arguments.variants.empty()) {
    SPIRLOOM_TRY_ASSIGN(names, NamesIn(arguments.variants));
  }
  SPIRLOOM_TRY_ASSIGN(const std::vector<VariantStatistics> variants,
                      CompileVariants(*device, index, names));
  for (const VariantStatistics& variant : variants) {
    refused += variant.refused ? 1 : 0;
    names.erase(variant.variant);
  }
  if (!names.empty())
    return Error(StatusCode::kNotFound, "The library has no variant '{}'.", *names.begin());
  return ToTsv(device->device().physical().info, variants);
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "spirloom-shader-stats: error: %s\n", message.c_str());
  return 1;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Compiles every variant of a shader library with a device's driver and prints the driver's "
      "statistics as tab-separated values. A driver without hardware is sufficient, e.g.\n"
      "  RADV_FORCE_FAMILY=navi21 spirloom-shader-stats --device navi21");
  app.add_option("--library", arguments.library, "a .slpack file; default: all operators");
  auto* device = app.add_option("--device", arguments.device,
                                "index, identifier or part of the name of a device");
  app.add_option("--fossilize", arguments.fossilize,
                 "write the pipelines to this .foz file, without a device, and print their hashes; "
                 "fossilize-replay compiles them with a driver")
      ->excludes(device);
  app.add_option("--variants", arguments.variants,
                 "compile only the variants that this file names, one in a line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto library = arguments.library.empty() ? Result<ShaderLibrary>(AllShaders())
                                           : ShaderLibrary::Open(arguments.library);
  if (!library.ok()) return Fail(library.status().message());
  size_t refused = 0;
  const auto statistics = Compile(arguments, *library, refused);
  if (!statistics.ok()) return Fail(statistics.status().message());
  if (std::fputs(statistics->c_str(), stdout) == EOF || std::fflush(stdout) != 0)
    return Fail("Standard output cannot be written.");
  if (refused > 0) return Fail("The driver refused " + std::to_string(refused) + " variants.");
  return 0;
}

}  // namespace
}  // namespace spirloom::tools

int main(int argc, char** argv) {
  try {
    return spirloom::tools::Main(argc, argv);
  } catch (...) {
    std::fprintf(stderr, "spirloom-shader-stats: %s\n",
                 spirloom::StatusOfException().message().c_str());
    return 1;
  }
}
