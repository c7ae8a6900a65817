// spirloom-shaderc: the command line of the shader compiler.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "compiler/compiler.h"

namespace spirloom::compiler {
namespace {

constexpr int kBadInput = 1;
constexpr int kBadUsage = 2;

constexpr const char* kDescription =
    "Compiles the GLSL variants of a manifest to one shader pack: parses, optimises, validates, "
    "checks each module against its spec, and stores equal modules once.";

constexpr const char* kFooter =
    "Errors are reported at the line of the template or spec that a person wrote. Files are "
    "written only if their bytes change; on an error the pack is left as it was.\n"
    "Exit code: 0 done, 1 bad input, 2 bad usage.\n\n"
    "Example:\n"
    "  spirloom-shaderc --manifest out/manifest.json --output out/shaders.slpack "
    "--cache-dir ~/.cache/spirloom/shaderc";

void AddOptions(CLI::App& app, CompileOptions& options, uint64_t& cache_mib, bool& quiet) {
  app.add_option("--manifest", options.manifest,
                 "manifest.json of the code generator; GLSL files are found beside it")
      ->required()
      ->type_name("FILE");
  app.add_option("--output", options.output, "the shader pack to write")
      ->required()
      ->type_name("FILE");
  app.add_option(
         "--cache-dir", options.cache_dir,
         "keep compiled modules here, by the hash of all they depend on (default: no cache)")
      ->type_name("DIR");
  app.add_option("--cache-limit", cache_mib,
                 "MiB the cache may hold; the oldest entries go first, those in use never")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 20))
      ->type_name("MIB");
  app.add_option("--jobs,-j", options.jobs, "threads (default: one per core)")
      ->check(CLI::Range(size_t{1}, size_t{1024}))
      ->type_name("N");
  app.add_option("--time-trace", options.time_trace,
                 "write where the time went, per variant and phase, for chrome://tracing or "
                 "Perfetto, and print a summary")
      ->type_name("FILE");
  app.add_option("--depfile", options.depfile, "write what the pack depends on, for make and Ninja")
      ->type_name("FILE");
  app.add_option("--extract", options.extract_dir, "also write every module as DIR/<id>.spv")
      ->type_name("DIR");
  app.add_flag("--compress", options.compress,
               "store modules compressed; programs decompress those they come to use");
  app.add_flag("--quiet,-q", quiet, "print errors and left-out variants only");
}

void PrintReport(const CompileReport& report, bool quiet) {
  for (const std::string& warning : report.warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  for (const std::string& variant : report.left_out)
    std::fprintf(stderr, "left out: %s\n", variant.c_str());
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

int main(int argc, char** argv) { return spirloom::compiler::Main(argc, argv); }
