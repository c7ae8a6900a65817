// Pipelines as a file of Fossilize (github.com/ValveSoftware/Fossilize), whose tools replay them on
// any driver.
#ifndef SPIRLOOM_TOOLS_SHADER_STATS_FOSSILIZE_H_
#define SPIRLOOM_TOOLS_SHADER_STATS_FOSSILIZE_H_

#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/ops/op_index.h"
#include "runtime/vulkan/pipeline.h"
#include "spirloom/status.h"

namespace spirloom::tools {

// A stream archive of format version 6: a header, then an entry per object, which is JSON. Objects
// refer to each other by hashes; equal objects are stored once.
class FossilizeArchive {
 public:
  // Fails with kInvalidArgument if the file cannot be written.
  static Result<FossilizeArchive> Create(const std::string& path);

  // Adds a pipeline with its module, layouts and specialization constants. Returns its hash, of 16
  // hexadecimal digits. Fails as pack::ReadModule() and if the file cannot be written.
  Result<std::string> Add(const vulkan::PipelineDesc& desc);

  // Writes buffered bytes. Fails if the file cannot be written.
  Status Close();

 private:
  // Values of the format.
  enum class Tag : uint32_t {
    kApplicationInfo = 0,
    kSetLayout = 2,
    kPipelineLayout = 3,
    kShaderModule = 4,
    kComputePipeline = 7,
  };

  Status Write(std::string_view bytes);
  Status WriteEntry(Tag tag, const std::string& hash, std::string_view payload);
  Result<std::string> AddObject(Tag tag, const char* member, const std::string& json,
                                std::string_view binary = {});

  std::ofstream file_;
  std::string path_;
  std::set<std::pair<Tag, std::string>> written_;
};

// Writes the pipelines of all variants of the library, with the default values of their
// specialization constants and their own workgroup sizes. Requires no device. Returns a heading and
// a row per pipeline, tab-separated: its hash, op, kernel and variant.
Result<std::string> ExportVariants(const ops::OpIndex& index, const std::string& path);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SHADER_STATS_FOSSILIZE_H_
