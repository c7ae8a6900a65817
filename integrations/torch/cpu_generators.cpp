#include "integrations/torch/cpu_generators.h"

#include <ATen/CPUGeneratorImpl.h>

#include <utility>

#include "integrations/torch/device.h"
#include "integrations/torch/generator.h"

namespace spirloom::pytorch {
namespace {

bool IsOptionalGenerator(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType &&
         type.containedType(0)->kind() == c10::TypeKind::GeneratorType;
}

}  // namespace

CpuGenerators::CpuGenerators(const c10::FunctionSchema& schema, torch::jit::Stack& stack,
                             size_t first) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    c10::IValue& value = stack[first + i];
    if (value.isGenerator()) {
      if (value.toGenerator().device().type() == kDeviceType) Replace(value, value.toGenerator());
    } else if (value.isNone() && IsOptionalGenerator(*schema.arguments()[i].type())) {
      Replace(value, DefaultGenerator());
    }
  }
}

void CpuGenerators::Update() {
  for (Pair& each : pairs_) each.own.set_state(each.cpu.get_state());
}

void CpuGenerators::Replace(c10::IValue& value, at::Generator own) {
  at::Generator cpu = at::make_generator<at::CPUGeneratorImpl>();
  std::unique_lock<std::mutex> lock(own.mutex());
  cpu.set_state(own.get_state());
  value = cpu;
  pairs_.push_back({std::move(own), std::move(cpu), std::move(lock)});
}

}  // namespace spirloom::pytorch
