#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/c/enums.h"
#include "runtime/c/error.h"
#include "runtime/c/stream.h"

using spirloom::Result;
using spirloom::Status;
using spirloom::StatusCode;
using spirloom::StreamArgument;
using spirloom::StreamTensor;
namespace c = spirloom::c;

namespace {

constexpr int kMaxKind = static_cast<int>(StreamArgument::Kind::kString);

Result<StreamTensor> ReadTensor(const spirloom_device_tensor& given) {
  const auto dtype = c::FromC(given.dtype);
  if (!dtype) {
    return spirloom::Error(StatusCode::kInvalidArgument,
                           "The value {} of `dtype` in a spirloom_device_tensor is not a "
                           "spirloom_dtype.",
                           static_cast<int>(given.dtype));
  }
  if (given.rank > spirloom::kMaxRank) {
    return spirloom::Error(StatusCode::kInvalidArgument,
                           "Rank ({}) of a spirloom_device_tensor exceeds 8.", given.rank);
  }
  for (size_t i = 0; i < given.rank; ++i) {
    if (given.sizes[i] >= 0) continue;
    return spirloom::Error(StatusCode::kInvalidArgument,
                           "Size {} of a spirloom_device_tensor is {}; expected at least 0.", i,
                           given.sizes[i]);
  }
  return StreamTensor{given.address, *dtype, {given.sizes, given.sizes + given.rank}};
}

Result<StreamArgument> ReadArgument(const spirloom_argument& given, size_t index) {
  const auto kind = static_cast<int>(given.kind);
  if (kind < 0 || kind > kMaxKind) {
    return spirloom::Error(StatusCode::kInvalidArgument,
                           "The value {} of `kind` in argument {} is not a spirloom_argument_kind.",
                           kind, index);
  }
  StreamArgument argument;
  argument.kind = static_cast<StreamArgument::Kind>(kind);
  argument.i = given.i;
  argument.f = given.f;
  const bool is_tensor = given.kind == SPIRLOOM_ARGUMENT_TENSOR;
  if (is_tensor && given.count != 1) {
    return spirloom::Error(StatusCode::kInvalidArgument,
                           "Argument {} is a tensor, and its `count` is {}; expected 1.", index,
                           given.count);
  }
  if (is_tensor || given.kind == SPIRLOOM_ARGUMENT_TENSOR_LIST) {
    SPIRLOOM_TRY(c::CheckArray("tensors", given.tensors, given.count));
    for (size_t i = 0; i < given.count; ++i) {
      SPIRLOOM_TRY_ASSIGN(StreamTensor tensor, ReadTensor(given.tensors[i]));
      argument.tensors.push_back(std::move(tensor));
    }
  } else if (given.kind == SPIRLOOM_ARGUMENT_INTS) {
    SPIRLOOM_TRY(c::CheckArray("ints", given.ints, given.count));
    argument.ints.assign(given.ints, given.ints + given.count);
  } else if (given.kind == SPIRLOOM_ARGUMENT_STRING) {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_call", {{"s", given.s}}));
    argument.s = given.s;
  }
  return argument;
}

spirloom_device_tensor ToDeviceTensor(const StreamTensor& from) {
  spirloom_device_tensor to{};
  to.address = from.address;
  to.dtype = c::ToC(from.dtype);
  to.rank = from.shape.size();
  std::ranges::copy(from.shape, to.sizes);
  return to;
}

}  // namespace

spirloom_status spirloom_stream_call(spirloom_stream* stream, size_t op,
                                     const spirloom_argument* arguments, size_t argument_count,
                                     spirloom_device_tensor* results, size_t result_count,
                                     spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_stream_call", {{"stream", stream}}));
    SPIRLOOM_TRY(c::CheckArray("arguments", arguments, argument_count));
    SPIRLOOM_TRY(c::CheckArray("results", results, result_count));
    std::vector<StreamArgument> given;
    given.reserve(argument_count);
    for (size_t i = 0; i < argument_count; ++i) {
      SPIRLOOM_TRY_ASSIGN(StreamArgument argument, ReadArgument(arguments[i], i));
      given.push_back(std::move(argument));
    }
    SPIRLOOM_TRY_ASSIGN(const std::vector<StreamTensor> computed, stream->stream.Call(op, given));
    if (computed.size() == result_count) {
      std::ranges::transform(computed, results, ToDeviceTensor);
      return Status();
    }
    for (const StreamTensor& each : computed) SPIRLOOM_TRY(stream->stream.Free(each.address));
    return spirloom::Error(StatusCode::kInvalidArgument,
                           "Number of results is {}; the operator has {}.", result_count,
                           computed.size());
  });
}
