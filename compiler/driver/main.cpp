// spirloom-shaderc: the command line of the shader compiler.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "compiler/driver/compiler.h"
#include "runtime/base/guarded.h"

namespace spirloom::compiler {
namespace {

constexpr int kBadInput = 1;
constexpr int kBadUsage = 2;

constexpr const char* kDescription =
    "Compiles the GLSL variants of a manifest to one shader pack: compiles, optimizes and "
    "validates "
    "each module, checks it against its spec, and stores equal modules once.";

constexpr const char* kFooter =
    "Errors are reported at the line of the template or spec. Files are written only if their "
    "content changes; on an error the pack is not modified.\n"
    "Exit code: 0 success, 1 invalid input, 2 invalid usage.\n\n"
    "Example:\n"
    "  spirloom-shaderc --manifest out/manifest.json --output out/shaders.slpack "
    "--cache-dir ~/.cache/spirloom/shaderc";

void AddOptions(CLI::App& app, CompileOptions& options, uint64_t& cache_mib, bool& quiet) {
  app.add_option("--manifest", options.manifest,
                 "manifest.json of the code generator; paths of GLSL files are relative to it")
      ->required()
      ->type_name("FILE");
  app.add_option("--output", options.output, "shader pack to write")->required()->type_name("FILE");
  app.add_option("--cache-dir", options.cache_dir,
                 "directory of the module cache, keyed by a hash of all inputs (default: no cache)")
      ->type_name("DIR");
  app.add_option("--cache-limit", cache_mib,
                 "maximum size of the cache in MiB; removes the oldest unused entries")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20))
      ->type_name("MIB");
  app.add_option("--jobs,-j", options.jobs, "number of threads (default: one per core)")
      ->check(CLI::Range(size_t{1}, size_t{1024}))
      ->type_name("N");
  app.add_option("--time-trace", options.time_trace,
                 "write the time of each variant and phase for chrome://tracing or Perfetto, and "
                 "print a summary")
      ->type_name("FILE");
  app.add_option("--depfile", options.depfile,
                 "write the dependencies of the pack, for make and Ninja")
      ->type_name("FILE");
  app.add_option("--extract", options.extract_dir, "also write each module to DIR/<id>.spv")
      ->type_name("DIR");
  app.add_flag("--compress", options.compress,
               "compress modules with zstd; programs decompress a module at its first use");
  app.add_option(
         "--debug-shaders", options.debug_root,
         "write modules without optimization, with names, lines, scopes, variables, and the texts "
         "of the GLSL and of the templates, whose names are relative to DIR; for debuggers such as "
         "RenderDoc. Permits debugPrintfEXT()")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  app.add_flag("--quiet,-q", quiet, "print only errors and skipped variants");
}

void PrintReport(const CompileReport& report, bool quiet) {
  for (const std::string& warning : report.warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  for (const std::string& variant : report.skipped)
    std::fprintf(stderr, "skipped: %s\n", variant.c_str());
  if (quiet) return;
  std::printf("%s%zu variants, %zu modules, %.1f KiB; %zu compiled%s\n",
              report.time_summary.c_str(), report.variants, report.modules,
              static_cast<double>(report.pack_bytes) / 1024, report.compiled,
              report.pack_written ? "" : "; the pack is up to date");
}

int Main(int argc, char** argv) {
  CompileOptions options;
  options.progress = true;
  uint64_t cache_mib = options.cache_limit >> 20;
  bool quiet = false;
  CLI::App app(kDescription, "spirloom-shaderc");
  app.footer(kFooter);
  AddOptions(app, options, cache_mib, quiet);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  options.cache_limit = cache_mib << 20;
  if (quiet) options.progress = false;

  const Result<CompileReport> report = CompileManifest(options);
  if (report.ok()) {
    PrintReport(*report, quiet);
    return 0;
  }
  std::string message = report.status().message();
  if (report.status().code() != StatusCode::kInvalidArgument) message = "error: " + message;
  if (message.back() != '\n') message += '\n';
  std::fputs(message.c_str(), stderr);
  return kBadInput;
}

}  // namespace
}  // namespace spirloom::compiler

int main(int argc, char** argv) {
  try {
    return spirloom::compiler::Main(argc, argv);
  } catch (...) {
    std::fprintf(stderr, "error: %s\n", spirloom::StatusOfException().message().c_str());
    return spirloom::compiler::kBadInput;
  }
}
