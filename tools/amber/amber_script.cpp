#include "tools/amber/amber_script.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "runtime/base/data_types.h"
#include "runtime/base/elements.h"
#include "runtime/base/text.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/pack/spirv_words.h"
#include "runtime/pack/stored_module.h"
#include "tools/amber/amber_features.h"
#include "tools/races/tensor_memory.h"

namespace spirloom::tools {
namespace {

using graph::Dispatch;
using graph::kNoTensor;
using graph::PlanTensor;
using internal::ExecutionContext;

constexpr size_t kWordsPerLine = 8;

std::string Hex(uint32_t word) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", word);
  return text;
}

// The words of `bytes`, whose number is a multiple of 4.
std::vector<uint32_t> WordsOf(std::span<const std::byte> bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

// Joins texts with spaces, in lines.
std::string Lines(std::span<const std::string> texts) {
  std::string lines;
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool end = i + 1 == texts.size() || (i + 1) % kWordsPerLine == 0;
    lines += texts[i] + (end ? "\n" : " ");
  }
  return lines;
}

// The element type of a buffer whose values Amber compares with a tolerance.
const char* FloatTypeOf(DType dtype) {
  if (dtype == DType::kF32) return "float";
  return dtype == DType::kF16 ? "float16" : nullptr;
}

std::string BufferText(const std::string& name, const char* float_type, DType dtype,
                       std::span<const std::byte> bytes) {
  const size_t size = float_type == nullptr ? 4 : ElementSize(dtype);
  const std::string head =
      Format("BUFFER {} DATA_TYPE {}", name, float_type == nullptr ? "uint32" : float_type);
  if (std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; })) {
    return Format("{} SIZE {} FILL 0\n", head, std::to_string(bytes.size() / size));
  }
  std::vector<std::string> values;
  if (float_type == nullptr) {
    for (const uint32_t word : WordsOf(bytes)) values.push_back(Hex(word));
  } else {
    for (size_t at = 0; at < bytes.size(); at += size) {
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", LoadElement(dtype, bytes.subspan(at, size)));
      values.emplace_back(text);
    }
  }
  return Format("{} DATA\n{}END\n", head, Lines(values));
}

bool AllFinite(DType dtype, std::span<const std::byte> bytes) {
  const size_t size = ElementSize(dtype);
  for (size_t at = 0; at < bytes.size(); at += size) {
    if (!std::isfinite(LoadElement(dtype, bytes.subspan(at, size)))) return false;
  }
  return true;
}

class ScriptWriter {
 public:
  ScriptWriter(ExecutionContext& context, InputBytes inputs,
               std::span<const std::optional<AmberExpectation>> expected)
      : context_(context),
        graph_(context.compiled()),
        inputs_(inputs),
        expected_(expected),
        scratch_(context.device()) {}

  Result<std::string> Write() {
    SPIRLOOM_TRY(CheckSupport());
    SPIRLOOM_TRY_ASSIGN(graph::DispatchList list,
                        graph::BuildDispatches(graph_.plan(), context_.model->config.traits,
                                               context_.device().host().max_submission_ns));
    SPIRLOOM_TRY(PrepareRun(context_, inputs_));
    SPIRLOOM_TRY(AddBuffers());
    for (const Dispatch& dispatch : graph_.dispatches) {
      const vulkan::PipelineDesc& desc = list.pipelines[dispatch.pipeline];
      if (modules_.emplace(dispatch.pipeline, modules_.size()).second) {
        SPIRLOOM_TRY(AddModule(dispatch.pipeline, desc));
      }
      AddPipeline(dispatch, desc);
    }
    SPIRLOOM_TRY(AddExpectations());
    std::string script = "#!amber\n";
    script += Format("# Recorded on {}.\n\n", Quote(context_.device().physical().info.name));
    for (const std::string& feature : features_) script += feature + "\n";
    return script + "\n" + shaders_ + buffers_ + constants_ + "\n" + pipelines_ + comparisons_;
  }

 private:
  Status CheckSupport() const {
    for (const Dispatch& dispatch : graph_.dispatches) {
      if (dispatch.pipeline == graph::kBufferCopy) {
        return Status(StatusCode::kUnsupported,
                      "An Amber script cannot copy a buffer that dispatches access; node '" +
                          graph_.plan().nodes[dispatch.node].name + "' is a copy.");
      }
      for (const uint32_t tensor : dispatch.tensors) {
        if (tensor == kNoTensor || !IsTexture(graph_.plan().tensors[tensor].storage())) continue;
        return Status(StatusCode::kUnsupported,
                      "Amber scripts contain buffers only; tensor '" +
                          graph_.plan().tensors[tensor].name +
                          "' is stored in an image. Use --storage buffer.");
      }
    }
    return Status();
  }

  // The buffer of a tensor. All aliases of a tensor are one buffer.
  std::string NameOf(uint32_t tensor) const {
    if (tensor == kNoTensor || context_.current().store->Find(tensor) == nullptr) return "none";
    return "t" + std::to_string(graph_.plan().Root(tensor));
  }

  const char* FloatTypeOfBuffer(uint32_t root) const {
    const auto found = std::ranges::find(graph_.plan().outputs, root);
    if (found == graph_.plan().outputs.end()) return nullptr;
    const std::optional<AmberExpectation>& output =
        expected_[static_cast<size_t>(found - graph_.plan().outputs.begin())];
    const DType dtype = graph_.plan().tensors[root].desc.dtype;
    const bool comparable = output && AllFinite(dtype, output->bytes);
    return comparable ? FloatTypeOf(dtype) : nullptr;
  }

  Status AddBuffers() {
    std::map<uint32_t, bool> roots;
    for (const Dispatch& dispatch : graph_.dispatches) {
      for (const uint32_t tensor : dispatch.tensors) {
        if (NameOf(tensor) == "none") {
          uses_none_ = true;
          continue;
        }
        const PlanTensor& part = graph_.plan().tensors[tensor];
        if (part.alias_offset != 0) {
          return Status(StatusCode::kUnsupported, "Amber scripts bind complete buffers; tensor '" +
                                                      part.name + "' is a part of another tensor.");
        }
        roots.emplace(graph_.plan().Root(tensor), true);
      }
    }
    if (uses_none_) buffers_ += "BUFFER none DATA_TYPE uint32 SIZE 4 FILL 0\n";
    for (const auto& [root, used] : roots) {
      const PlanTensor& tensor = graph_.plan().tensors[root];
      SPIRLOOM_TRY_ASSIGN(const std::vector<std::byte> bytes, Read(root));
      buffers_ +=
          Format("# {}, {} {}\n{}", Quote(tensor.name), ShortName(tensor.desc.dtype),
                 ToString(Shape(tensor.desc.shape.begin(), tensor.desc.shape.end())),
                 BufferText(NameOf(root), FloatTypeOfBuffer(root), tensor.desc.dtype, bytes));
    }
    return Status();
  }

  // The bytes of a tensor, as bound: kernels access complete vec4s.
  Result<std::vector<std::byte>> Read(uint32_t root) {
    const graph::TensorResource& resource = *context_.current().store->Find(root);
    const PlanTensor& tensor = graph_.plan().tensors[root];
    SPIRLOOM_TRY_ASSIGN(const std::span<const std::byte> bytes,
                        ReadMemory(scratch_, resource, tensor.desc.dtype, resource.buffer->offset(),
                                   tensor.buffer_size()));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  Status AddModule(uint32_t pipeline, const vulkan::PipelineDesc& desc) {
    SPIRLOOM_TRY_ASSIGN(const std::vector<uint32_t> words,
                        pack::ReadModule(desc.module, desc.bindings));
    for (const std::string& feature : AmberFeaturesOf(words)) AddFeature(feature);
    if (desc.subgroup_size > 0) {
      AddFeature("DEVICE_FEATURE SubgroupSizeControl.subgroupSizeControl");
      AddFeature("DEVICE_FEATURE SubgroupSizeControl.computeFullSubgroups");
    }
    std::vector<std::string> bytes;
    for (const uint32_t word : words) {
      for (int shift = 0; shift < 32; shift += 8) {
        char text[4];
        std::snprintf(text, sizeof text, "%02x", (word >> shift) & 0xFF);
        bytes.emplace_back(text);
      }
    }
    shaders_ += Format("SHADER compute {} SPIRV-HEX TARGET_ENV spv{}\n{}END\n\n",
                       ShaderName(pipeline), pack::SpirvVersionText(words[1]), Lines(bytes));
    return Status();
  }

  std::string ShaderName(uint32_t pipeline) const {
    return "shader" + std::to_string(modules_.at(pipeline));
  }

  void AddFeature(const std::string& feature) {
    if (std::ranges::find(features_, feature) == features_.end()) features_.push_back(feature);
  }

  void AddPipeline(const Dispatch& dispatch, const vulkan::PipelineDesc& desc) {
    const std::string id = std::to_string(added_++);
    const std::string shader = ShaderName(dispatch.pipeline);
    const graph::PlanNode& node = graph_.plan().nodes[dispatch.node];
    if (!dispatch.push.empty()) {
      constants_ += BufferText("push" + id, nullptr, DType::kI32, dispatch.push);
    }
    pipelines_ += Format("# {}: {}\nPIPELINE compute pipeline{}\n  ATTACH {}", Quote(node.name),
                         desc.name, id, shader);
    std::vector<uint32_t> constants(desc.workgroup.begin(), desc.workgroup.end());
    constants.insert(constants.end(), desc.constants.begin(), desc.constants.end());
    for (size_t i = 0; i < constants.size(); ++i) {
      pipelines_ +=
          Format(" SPECIALIZE {} AS uint32 {}", std::to_string(i), std::to_string(constants[i]));
    }
    pipelines_ += "\n";
    if (desc.subgroup_size > 0) {
      pipelines_ += Format("  SUBGROUP {}\n    FULLY_POPULATED on\n    REQUIRED_SIZE {}\n  END\n",
                           shader, std::to_string(desc.subgroup_size));
    }
    for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
      pipelines_ += Format("  BIND BUFFER {} AS storage DESCRIPTOR_SET 0 BINDING {}\n",
                           NameOf(dispatch.tensors[i]), std::to_string(i));
    }
    if (!dispatch.push.empty()) {
      pipelines_ += Format("  BIND BUFFER push{} AS push_constant\n", id);
    }
    pipelines_ += Format("END\nRUN pipeline{} {} {} {}\n\n", id, std::to_string(dispatch.groups[0]),
                         std::to_string(dispatch.groups[1]), std::to_string(dispatch.groups[2]));
  }

  Status AddExpectations() {
    std::vector<uint32_t> order(graph_.dispatches.size());
    std::iota(order.begin(), order.end(), 0U);
    SPIRLOOM_TRY(RunSerially(context_, inputs_, order, scratch_).status());
    for (size_t i = 0; i < expected_.size(); ++i) {
      const uint32_t root = graph_.plan().Root(graph_.plan().outputs[i]);
      if (!expected_[i] || NameOf(root) == "none") continue;
      // Elements that pad the buffer have the values of this run.
      SPIRLOOM_TRY_ASSIGN(std::vector<std::byte> bytes, Read(root));
      std::ranges::copy(expected_[i]->bytes, bytes.begin());
      const char* float_type = FloatTypeOfBuffer(root);
      const DType dtype = graph_.plan().tensors[root].desc.dtype;
      const std::string name = "expected" + std::to_string(i);
      constants_ += BufferText(name, float_type, dtype, bytes);
      comparisons_ += Concat("EXPECT ", NameOf(root));
      if (float_type == nullptr) {
        comparisons_ += Format(" EQ_BUFFER {}\n", name);
      } else {
        char tolerance[32];
        std::snprintf(tolerance, sizeof tolerance, "%.9f", ToleranceOf(*expected_[i], dtype));
        comparisons_ += Format(" RMSE_BUFFER {} TOLERANCE {}\n", name, tolerance);
      }
    }
    return Status();
  }

  static double ToleranceOf(const AmberExpectation& expected, DType dtype) {
    const size_t size = ElementSize(dtype);
    const std::span<const std::byte> bytes = expected.bytes;
    double sum = 0;
    for (size_t at = 0; at < bytes.size(); at += size) {
      const double y = LoadElement(dtype, bytes.subspan(at, size));
      sum += y * y;
    }
    const double count = static_cast<double>(std::max<size_t>(bytes.size() / size, 1));
    return expected.atol + expected.rtol * std::sqrt(sum / count);
  }

  ExecutionContext& context_;
  const internal::CompiledGraph& graph_;
  const InputBytes inputs_;
  const std::span<const std::optional<AmberExpectation>> expected_;
  Scratch scratch_;
  std::map<uint32_t, size_t> modules_;  // numbers of shaders, by Dispatch::pipeline
  size_t added_ = 0;                    // pipelines in the script
  bool uses_none_ = false;
  std::vector<std::string> features_;
  std::string shaders_;
  std::string buffers_;
  std::string constants_;  // expected values and push constants
  std::string pipelines_;
  std::string comparisons_;
};

}  // namespace

Result<std::string> AmberScript(ExecutionContext& context, InputBytes inputs,
                                std::span<const std::optional<AmberExpectation>> expected) {
  return ScriptWriter(context, inputs, expected).Write();
}

}  // namespace spirloom::tools
