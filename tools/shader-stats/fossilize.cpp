#include "tools/shader-stats/fossilize.h"

#include <xxhash.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/path.h"
#include "runtime/pack/image_types.h"
#include "runtime/vulkan/descriptors.h"
#include "tools/shader-stats/variant_statistics.h"

namespace spirloom::tools {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 6;
constexpr std::string_view kMagic(
    "\x81"
    "FOSSILIZEDB\0\0\0\x06",
    16);
constexpr uint32_t kUncompressed = 1;
// Names of entries have 40 hexadecimal digits: the tag, then the hash.
constexpr int kTagDigits = 24;

std::string Hash(std::string_view bytes) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(XXH64(bytes.data(), bytes.size(), /*seed=*/0)));
  return text;
}

void PutWord(std::string& bytes, uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift);
}

// Words as base-128 numbers, the low digits first; the high bit of a byte continues a number.
std::string Varint(std::span<const uint32_t> words) {
  std::string bytes;
  for (uint32_t word : words) {
    for (; word >= 0x80; word >>= 7) bytes += static_cast<char>(word | 0x80);
    bytes += static_cast<char>(word);
  }
  return bytes;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 3; ++j)
      group = group << 8 | (j < bytes.size() ? static_cast<uint8_t>(bytes[j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

ordered_json SetLayout(std::span<const pack::BindingType> types) {
  ordered_json bindings = ordered_json::array();
  for (size_t i = 0; i < types.size(); ++i) {
    bindings.push_back({{"descriptorType", vulkan::ToDescriptorType(types[i])},
                        {"descriptorCount", 1},
                        {"stageFlags", VK_SHADER_STAGE_COMPUTE_BIT},
                        {"binding", i}});
  }
  return {{"flags", 0}, {"bindings", std::move(bindings)}};
}

ordered_json PipelineLayout(const std::string& set, uint32_t push_bytes) {
  ordered_json ranges = ordered_json::array();
  if (push_bytes != 0) {
    ranges.push_back(
        {{"stageFlags", VK_SHADER_STAGE_COMPUTE_BIT}, {"size", push_bytes}, {"offset", 0}});
  }
  return {{"flags", 0},
          {"pushConstantRanges", std::move(ranges)},
          {"setLayouts", ordered_json::array({set})}};
}

// Specialization constants 0, 1 and 2 are the workgroup.
ordered_json Specialization(const vulkan::PipelineDesc& desc) {
  std::vector<uint32_t> values(desc.workgroup.begin(), desc.workgroup.end());
  values.insert(values.end(), desc.constants.begin(), desc.constants.end());
  std::string data;
  ordered_json entries = ordered_json::array();
  for (size_t id = 0; id < values.size(); ++id) {
    entries.push_back({{"offset", data.size()}, {"size", 4}, {"constantID", id}});
    PutWord(data, values[id]);
  }
  return {{"dataSize", data.size()}, {"data", Base64(data)}, {"mapEntries", std::move(entries)}};
}

ordered_json Pipeline(const vulkan::PipelineDesc& desc, const std::string& module,
                      const std::string& layout) {
  ordered_json stage = {{"flags", 0},
                        {"stage", VK_SHADER_STAGE_COMPUTE_BIT},
                        {"module", module},
                        {"name", "main"},
                        {"specializationInfo", Specialization(desc)}};
  if (desc.subgroup_size != 0) {
    stage["flags"] = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    stage["pNext"] = ordered_json::array(
        {{{"sType", VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO},
          {"requiredSubgroupSize", desc.subgroup_size}}});
  }
  return {{"flags", 0},
          {"layout", layout},
          {"basePipelineHandle", "0000000000000000"},
          {"basePipelineIndex", -1},
          {"stage", std::move(stage)}};
}

}  // namespace

Result<FossilizeArchive> FossilizeArchive::Create(const std::string& path) {
  FossilizeArchive archive;
  archive.path_ = path;
  archive.file_.open(ToPath(path), std::ios::binary);
  SPIRLOOM_TRY(archive.Write(kMagic));
  // The oldest version with all instructions of the modules.
  const ordered_json application = {{"applicationName", "Spirloom"},
                                    {"engineName", "Spirloom"},
                                    {"applicationVersion", 0},
                                    {"engineVersion", 0},
                                    {"apiVersion", VK_API_VERSION_1_3}};
  const ordered_json root = {{"version", kVersion},
                             {"applicationInfo", application},
                             {"physicalDeviceFeatures", {{"robustBufferAccess", 0}}}};
  const std::string text = root.dump();
  SPIRLOOM_TRY(archive.WriteEntry(Tag::kApplicationInfo, Hash(text), text));
  return archive;
}

Result<std::string> FossilizeArchive::Add(const vulkan::PipelineDesc& desc) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint32_t> words,
                      pack::ReadModule(desc.module, desc.bindings));
  const std::string varint = Varint(words);
  const ordered_json code = {{"varintOffset", 0},
                             {"varintSize", varint.size()},
                             {"codeSize", words.size() * sizeof(uint32_t)},
                             {"flags", 0}};
  SPIRLOOM_TRY_ASSIGN(const std::string module,
                      AddObject(Tag::kShaderModule, "shaderModules", code.dump(), varint));
  SPIRLOOM_TRY_ASSIGN(const std::string set,
                      AddObject(Tag::kSetLayout, "setLayouts", SetLayout(desc.bindings).dump()));
  SPIRLOOM_TRY_ASSIGN(const std::string layout,
                      AddObject(Tag::kPipelineLayout, "pipelineLayouts",
                                PipelineLayout(set, desc.push_bytes).dump()));
  return AddObject(Tag::kComputePipeline, "computePipelines",
                   Pipeline(desc, module, layout).dump());
}

// Adds {"version": 6, `member`: {HASH: `json`}}, followed by binary data after a zero byte.
Result<std::string> FossilizeArchive::AddObject(Tag tag, const char* member,
                                                const std::string& json, std::string_view binary) {
  std::string hash = Hash(json + '\0' + std::string(binary));
  std::string payload = Format("{\"version\":{},\"{}\":{\"{}\":{}}}", kVersion, member, hash, json);
  if (!binary.empty()) payload.append(1, '\0').append(binary);
  SPIRLOOM_TRY(WriteEntry(tag, hash, payload));
  return hash;
}

Status FossilizeArchive::WriteEntry(Tag tag, const std::string& hash, std::string_view payload) {
  if (!written_.emplace(tag, hash).second) return {};
  char digits[kTagDigits + 1];
  std::snprintf(digits, sizeof digits, "%0*x", kTagDigits, static_cast<unsigned>(tag));
  std::string entry = digits + hash;
  const auto size = static_cast<uint32_t>(payload.size());
  // Stored size, compression, checksum (0: none), size.
  for (const uint32_t word : {size, kUncompressed, 0U, size}) PutWord(entry, word);
  SPIRLOOM_TRY(Write(entry));
  return Write(payload);
}

Status FossilizeArchive::Write(std::string_view bytes) {
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file_.good()) return {};
  return Error(StatusCode::kInvalidArgument, "The file '{}' cannot be written.", path_);
}

Status FossilizeArchive::Close() {
  file_.close();
  return Write({});
}

Result<std::string> ExportVariants(const ops::OpIndex& index, const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(FossilizeArchive archive, FossilizeArchive::Create(path));
  std::string rows = "pipeline\top\tkernel\tvariant\n";
  for (const ops::OpEntry& entry : index.ops()) {
    for (const ops::KernelInfo& kernel : entry.op->kernels) {
      for (const pack::VariantRow& row : index.VariantsOf(entry, kernel)) {
        const vulkan::PipelineDesc desc =
            DescOf(index.libraries()[entry.library].pack, kernel, row);
        SPIRLOOM_TRY_ASSIGN(const std::string hash, archive.Add(desc));
        rows += Format("{}\t{}\t{}\t{}\n", hash, entry.op->name, kernel.name, desc.name);
      }
    }
  }
  SPIRLOOM_TRY(archive.Close());
  return rows;
}

}  // namespace spirloom::tools
