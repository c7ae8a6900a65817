#include "integrations/torch/numbers.h"

#include <ATen/ATen.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "integrations/torch/copy.h"
#include "integrations/torch/device.h"

namespace spirloom::pytorch {
namespace {

// Tensors of one element by dtype and value: programs use few numbers, and each again and again.
class Numbers {
 public:
  at::Tensor Find(const at::Scalar& value, c10::ScalarType type) {
    const bool is_float = value.isFloatingPoint();
    const uint64_t bits = is_float ? std::bit_cast<uint64_t>(value.toDouble())
                                   : static_cast<uint64_t>(value.toLong());
    const std::scoped_lock lock(mutex_);
    if (tensors_.size() >= kMaxNumbers) tensors_.clear();
    at::Tensor& number = tensors_[{type, is_float, bits}];
    if (!number.defined()) number = Make(value, type);
    return number;
  }

 private:
  static constexpr size_t kMaxNumbers = 256;

  static at::Tensor Make(const at::Scalar& value, c10::ScalarType type) {
    const auto options = at::TensorOptions().dtype(type);
    at::Tensor number = at::empty({}, options.device(kDeviceType));
    FromHost(number, at::scalar_tensor(value, options.device(at::kCPU)));
    return number;
  }

  std::mutex mutex_;
  std::map<std::tuple<c10::ScalarType, bool, uint64_t>, at::Tensor> tensors_;
};

}  // namespace

at::Tensor NumberOnDevice(const at::Scalar& value, c10::ScalarType type) {
  static auto* const numbers = new Numbers;  // lives as long as the device
  return numbers->Find(value, type);
}

}  // namespace spirloom::pytorch
