#include "integrations/executorch/backend/intermediates.h"

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstdint>
#include <optional>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using ::executorch::aten::ScalarType;
using ::executorch::runtime::EventTracer;
using ::executorch::runtime::EventTracerDebugLogLevel;

// None for types that ExecuTorch does not have.
std::optional<ScalarType> ScalarTypeOf(DType type) {
  switch (type) {
    case DType::kF32:
      return ScalarType::Float;
    case DType::kF16:
      return ScalarType::Half;
    case DType::kBF16:
      return ScalarType::BFloat16;
    case DType::kI32:
      return ScalarType::Int;
    case DType::kI8:
      return ScalarType::Char;
    case DType::kU8:
      return ScalarType::Byte;
    case DType::kB8:
      return ScalarType::Bool;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      break;
  }
  return std::nullopt;
}

}  // namespace

bool LogsIntermediates(EventTracer* tracer) {
  return tracer != nullptr &&
         tracer->event_tracer_debug_level() >= EventTracerDebugLogLevel::kIntermediateOutputs;
}

void Intermediates::AppendTo(std::vector<std::span<std::byte>>& outputs,
                             std::span<const TensorInfo> infos) {
  if (nodes_.empty()) return;
  bytes_.resize(infos.size());
  for (size_t i = outputs.size(); i < infos.size(); ++i) {
    bytes_[i].resize(infos[i].size);
    outputs.push_back(bytes_[i]);
  }
  outputs_ = outputs;
}

Status Intermediates::Log(EventTracer& tracer, std::span<const TensorInfo> infos) {
  for (const auto& [name, output] : nodes_) {
    const TensorInfo& info = infos[output];
    const std::optional<ScalarType> type = ScalarTypeOf(info.dtype);
    if (!type) continue;
    const size_t rank = info.shape.size();
    std::vector<::executorch::aten::SizesType> sizes(info.shape.begin(), info.shape.end());
    std::vector<::executorch::aten::DimOrderType> order(rank);
    std::vector<::executorch::aten::StridesType> strides(rank);
    int32_t stride = 1;
    for (size_t d = rank; d-- > 0;) {
      order[d] = static_cast<uint8_t>(d);
      strides[d] = stride;
      stride *= sizes[d];
    }
    ::executorch::aten::TensorImpl tensor(*type, static_cast<ssize_t>(rank), sizes.data(),
                                          outputs_[output].data(), order.data(), strides.data());
    const auto logged = tracer.log_intermediate_output_delegate(
        name.c_str(), ::executorch::runtime::kUnsetDelegateDebugIntId,
        ::executorch::aten::Tensor(&tensor));
    if (!logged.ok()) {
      return Error(StatusCode::kOutOfMemory,
                   "The event tracer does not accept the result of node {} ({} bytes). Increase "
                   "the size of its debug buffer.",
                   Quote(name), info.size);
    }
  }
  return Status();
}

}  // namespace spirloom::delegate
