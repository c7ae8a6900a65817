// The shader compiler: compiles a manifest and its GLSL files to a shader pack.
#ifndef SPIRLOOM_COMPILER_DRIVER_COMPILER_H_
#define SPIRLOOM_COMPILER_DRIVER_COMPILER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Empty paths disable the feature.
struct CompileOptions {
  std::filesystem::path manifest;
  std::filesystem::path output;                // the pack
  std::filesystem::path cache_dir;             // compiled modules between runs
  uint64_t cache_limit = uint64_t{256} << 20;  // bytes
  size_t jobs = 0;                             // threads; 0: one per core
  std::filesystem::path time_trace;            // Chrome trace JSON
  std::filesystem::path depfile;               // dependencies of the pack, for make and Ninja
  std::filesystem::path extract_dir;           // writes each module to <id>.spv
  bool compress = false;                       // compress modules with zstd
  std::filesystem::path debug_root;            // unoptimized modules with source, of templates here
  bool progress = false;                       // report progress on stderr
};

struct CompileReport {
  size_t variants = 0;  // in the pack
  size_t modules = 0;   // distinct modules
  size_t compiled = 0;  // variants not found in the cache
  size_t pack_bytes = 0;
  bool pack_written = false;          // false: the file was up to date
  std::vector<std::string> skipped;   // "<id>: <reason>", variants that are not portable
  std::vector<std::string> warnings;  // e.g. a cache that cannot be written
  std::string time_summary;           // a table, with `time_trace`
};

// Fails with kInvalidArgument for errors in specs and templates; the message then contains a line
// "file:line: error: ..." for each (FormatDiagnostics()). Fails with kInvalidFile for an invalid
// manifest, and with kNotFound for a missing file. On failure, the pack is not modified.
Result<CompileReport> CompileManifest(const CompileOptions& options);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DRIVER_COMPILER_H_
