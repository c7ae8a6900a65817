// Registers the operators of the table: one boxed kernel for all of them, with its rows as its
// state.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "integrations/torch/binding.h"
#include "integrations/torch/device.h"
#include "integrations/torch/fallback.h"
#include "integrations/torch/int64.h"
#include "integrations/torch/operator_call.h"
#include "integrations/torch/operator_table.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

// A row with its binding to the schema of an overload.
struct BoundRow {
  std::shared_ptr<const OperatorRow> row;
  Binding binding;
};

// The kernel of one overload, of rows for floating-point tensors and for int64.
class TableKernel final : public c10::OperatorKernel {
 public:
  // `decomposes`: PyTorch decomposes the operator where no kernel computes it.
  TableKernel(std::vector<BoundRow> rows, bool decomposes)
      : rows_(std::move(rows)), decomposes_(decomposes) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const c10::FunctionSchema& schema = op.schema();
    const size_t first = stack->size() - schema.arguments().size();
    const std::string reason = TryOnDevice(schema, *stack, first);
    if (reason.empty()) return;
    if (decomposes_) {
      op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
    } else if (!ComputeInt64(schema, *stack)) {
      RunOnCpu(op, stack, reason);
    }
  }

 private:
  // Replaces the arguments on the stack by the results, or returns why the device cannot compute
  // them.
  std::string TryOnDevice(const c10::FunctionSchema& schema, torch::jit::Stack& stack,
                          size_t first) const {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const c10::ArrayRef<c10::IValue> values(stack.data() + first, schema.arguments().size());
    std::string reason;
    for (const BoundRow& each : rows_) {
      OperatorCall call(*each.row);
      reason = Try(each, call, schema, values, stack);
      if (reason.empty() || !call.is_int64()) break;
    }
    return reason;
  }

  static std::string Try(const BoundRow& bound, OperatorCall& call,
                         const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values,
                         torch::jit::Stack& stack) {
    if (!call.SetArguments(schema, bound.binding, values)) return call.reason();
    const std::optional<size_t> op = FindOperator(bound.row->op);
    if (!op) return "the shader library has no operator '" + bound.row->op + "'";
    std::vector<at::Tensor> results = call.Run(*op);
    if (results.empty()) return call.reason();
    const CallForm form = bound.binding.form;
    if (form != CallForm::kFunctional) {
      at::Tensor target =
          form == CallForm::kInPlace ? values.front().toTensor() : values.back().toTensor();
      if (const char* reason = Store(results[0], target, form); reason != nullptr) return reason;
      results[0] = std::move(target);
    }
    torch::jit::drop(stack, schema.arguments().size());
    for (at::Tensor& result : results) stack.emplace_back(std::move(result));
    return {};
  }

  // Copies the result to the tensor of an in-place or `out` call. Returns why it cannot.
  static const char* Store(const at::Tensor& result, const at::Tensor& target, CallForm form) {
    CheckOnDevice(target);
    if (!c10::canCast(result.scalar_type(), target.scalar_type())) {
      return "its result has another dtype";
    }
    if (form == CallForm::kOut) {
      at::native::resize_output(target, result.sizes());
    } else if (target.sizes() != result.sizes()) {
      return "its result has another shape";
    }
    target.copy_(result);
    return nullptr;
  }

  const std::vector<BoundRow> rows_;
  const bool decomposes_;
};

// A composite operator that one kernel computes: PyTorch decomposes it if a gradient is required,
// and computes the gradients of the parts.
class FusedAutogradKernel final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const size_t count = op.schema().arguments().size();
    const c10::ArrayRef<c10::IValue> values(stack->data() + stack->size() - count, count);
    const auto requires_grad = [](const c10::IValue& value) {
      return value.isTensor() && value.toTensor().defined() && value.toTensor().requires_grad();
    };
    const auto has_tangent = [](const c10::IValue& value) {
      return value.isTensor() && value.toTensor().defined() &&
             value.toTensor()._fw_grad(/*level=*/0).defined();
    };
    const bool has_gradient =
        at::GradMode::is_enabled() && std::ranges::any_of(values, requires_grad);
    if (has_gradient || std::ranges::any_of(values, has_tangent)) {
      op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
      return;
    }
    const at::AutoDispatchBelowADInplaceOrView guard;
    op.callBoxed(*stack);
  }
};

// Overloads that write the results of a functional overload to their arguments: of the same name or
// with a trailing underscore, and with equal further arguments.
bool WritesResultsOf(const c10::FunctionSchema& functional, const c10::FunctionSchema& other) {
  const bool is_in_place = other.name() == functional.name() + "_";
  if (!is_in_place && other.name() != functional.name()) return false;
  const size_t count = functional.arguments().size();
  if (other.arguments().size() != count + (is_in_place ? 0 : 1)) return false;
  if (!is_in_place && !other.arguments().back().is_out()) return false;
  for (size_t i = 0; i < count; ++i) {
    if (other.arguments()[i].name() != functional.arguments()[i].name()) return false;
    if (*other.arguments()[i].type() != *functional.arguments()[i].type()) return false;
  }
  return true;
}

struct Less {
  bool operator()(const c10::OperatorName& a, const c10::OperatorName& b) const {
    return std::pair(a.name, a.overload_name) < std::pair(b.name, b.overload_name);
  }
};

// The rows of each overload that has any, and whether PyTorch decomposes the overload.
class Registrar {
 public:
  Registrar() {
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
      overloads_[name.name].push_back(name);
  }

  void Add(const OperatorRow& row) {
    const size_t dot = row.aten.find('.');
    const c10::OperatorName name(row.aten.substr(0, dot),
                                 dot == std::string::npos ? "" : row.aten.substr(dot + 1));
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) return;  // of another version of PyTorch
    // A view: its in-place overload changes the strides of its argument, and writes no elements.
    if (!Bind(op->schema(), row)) return;
    const auto shared = std::make_shared<const OperatorRow>(row);
    Add(*op, shared);
    for (const std::string& other : {name.name, name.name + "_"}) {
      for (const c10::OperatorName& overload : overloads_[other]) {
        const auto found = c10::Dispatcher::singleton().findSchema(overload);
        if (found && WritesResultsOf(op->schema(), found->schema())) Add(*found, shared);
      }
    }
  }

  void Register(torch::Library& library) const {
    for (const auto& [name, rows] : rows_) {
      library.impl(NameOf(name).c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                             std::make_unique<TableKernel>(rows, IsFused(name))));
    }
  }

  void RegisterAutograd(torch::Library& library) const {
    for (const auto& [name, rows] : rows_) {
      if (!IsFused(name)) continue;
      library.impl(NameOf(name).c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                             std::make_unique<FusedAutogradKernel>()));
    }
  }

 private:
  static std::string NameOf(const c10::OperatorName& name) {
    std::string text = name.name.substr(std::string_view("aten::").size());
    if (!name.overload_name.empty()) text += '.' + name.overload_name;
    return text;
  }

  static bool IsComposite(const c10::OperatorName& name) {
    return c10::Dispatcher::singleton().findSchema(name)->hasKernelForDispatchKey(
        c10::DispatchKey::CompositeImplicitAutograd);
  }

  // linear() has a formula of its own for the gradient.
  static bool IsFused(const c10::OperatorName& name) {
    return name.name != "aten::linear" && IsComposite(name);
  }

  void Add(const c10::OperatorHandle& op, const std::shared_ptr<const OperatorRow>& row) {
    const c10::OperatorName& name = op.operator_name();
    if (IsFused(name) && !row->Has(kFused)) return;
    std::optional<Binding> binding = Bind(op.schema(), *row);
    if (!binding) return;
    std::vector<BoundRow>& rows = rows_[name];
    // The first of equal kind counts.
    const bool has_kind = std::ranges::any_of(rows, [&](const BoundRow& each) {
      return each.row->Has(kTakesInt64) == row->Has(kTakesInt64);
    });
    if (!has_kind) rows.push_back({row, std::move(*binding)});
  }

  std::map<std::string, std::vector<c10::OperatorName>> overloads_;
  std::map<c10::OperatorName, std::vector<BoundRow>, Less> rows_;
};

const Registrar& TheRegistrar() {
  static const Registrar* const registrar = [] {
    auto* made = new Registrar;
    for (const OperatorRow& row : OperatorTable()) made->Add(row);
    return made;
  }();
  return *registrar;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { TheRegistrar().Register(m); }

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { TheRegistrar().RegisterAutograd(m); }

}  // namespace
}  // namespace spirloom::pytorch
