// The shader compiler: a manifest and its GLSL files in, a shader pack out.
#ifndef SPIRLOOM_COMPILER_COMPILER_H_
#define SPIRLOOM_COMPILER_COMPILER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Empty paths: do without.
struct CompileOptions {
  std::filesystem::path manifest;
  std::filesystem::path output;                // the pack
  std::filesystem::path cache_dir;             // compiled modules between runs
  uint64_t cache_limit = uint64_t{256} << 20;  // bytes
  size_t jobs = 0;                             // threads; 0: one per core
  std::filesystem::path time_trace;            // Chrome trace JSON
  std::filesystem::path depfile;               // what the pack depends on, for make and Ninja
  std::filesystem::path extract_dir;           // every module as <id>.spv
  bool compress = false;                       // modules in the pack, with zstd
  bool progress = false;                       // a line on stderr while it takes long
};

struct CompileReport {
  size_t variants = 0;  // in the pack
  size_t modules = 0;   // distinct ones
  size_t compiled = 0;  // the others came from the cache
  size_t pack_bytes = 0;
  bool pack_written = false;          // false: the file was already the same
  std::vector<std::string> left_out;  // "<id>: <reason>", variants that are not portable
  std::vector<std::string> warnings;  // e.g. a cache that cannot be written
  std::string time_summary;           // a table, with `time_trace`
};

// Fails with kInvalidArgument for errors in specs and templates; the message is then a line
// "file:line: error: ..." for each (see FormatDiagnostics). Fails with kInvalidFile for a bad
// manifest, kNotFound for a missing file. On failure the pack is left as it was before, or absent.
Result<CompileReport> CompileManifest(const CompileOptions& options);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_COMPILER_H_
