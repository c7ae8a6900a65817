// Registers the operators of the table: one boxed kernel for all of them, with the row as its
// state.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "integrations/torch/binding.h"
#include "integrations/torch/device.h"
#include "integrations/torch/device_copy.h"
#include "integrations/torch/fallback.h"
#include "integrations/torch/operator_call.h"
#include "integrations/torch/operator_table.h"

namespace spirloom::pytorch {
namespace {

// The kernel of one overload.
class TableKernel final : public c10::OperatorKernel {
 public:
  TableKernel(std::shared_ptr<const OperatorRow> row, Binding binding)
      : row_(std::move(row)), binding_(std::move(binding)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const c10::FunctionSchema& schema = op.schema();
    const size_t first = stack->size() - schema.arguments().size();
    const std::string reason = TryOnDevice(schema, *stack, first);
    if (!reason.empty()) RunOnCpu(op, stack, reason);
  }

 private:
  // Replaces the arguments on the stack by the result, or returns why the device cannot compute it.
  std::string TryOnDevice(const c10::FunctionSchema& schema, torch::jit::Stack& stack,
                          size_t first) const {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const c10::ArrayRef<c10::IValue> values(stack.data() + first, schema.arguments().size());
    OperatorCall call(*row_);
    if (!call.SetArguments(schema, binding_, values)) return call.reason();
    const std::optional<size_t> op = FindOperator(row_->op);
    if (!op) return "the shader library has no operator '" + row_->op + "'";
    const std::optional<at::Tensor> result = call.Run(*op);
    if (!result) return call.reason();
    at::Tensor returned = *result;
    if (binding_.form != CallForm::kFunctional) {
      returned = binding_.form == CallForm::kInPlace ? values.front().toTensor()
                                                     : values.back().toTensor();
      if (const char* reason = Store(*result, returned); reason != nullptr) return reason;
    }
    torch::jit::drop(stack, schema.arguments().size());
    stack.emplace_back(std::move(returned));
    return {};
  }

  // Copies the result to the tensor of an in-place or `out` call. Returns why it cannot.
  const char* Store(const at::Tensor& result, const at::Tensor& target) const {
    CheckOnDevice(target);
    if (target.scalar_type() != result.scalar_type()) return "its result has another dtype";
    if (binding_.form == CallForm::kOut) {
      at::native::resize_output(target, result.sizes());
    } else if (target.sizes() != result.sizes()) {
      return "its result has another shape";
    }
    target.copy_(result);
    return nullptr;
  }

  const std::shared_ptr<const OperatorRow> row_;
  const Binding binding_;
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

class Registrar {
 public:
  explicit Registrar(torch::Library& library) : library_(library) {
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
    Register(*op, shared);
    for (const std::string& other : {name.name, name.name + "_"}) {
      for (const c10::OperatorName& overload : overloads_[other]) {
        const auto found = c10::Dispatcher::singleton().findSchema(overload);
        if (found && WritesResultsOf(op->schema(), found->schema())) Register(*found, shared);
      }
    }
  }

 private:
  void Register(const c10::OperatorHandle& op, const std::shared_ptr<const OperatorRow>& row) {
    // PyTorch decomposes it, and computes its gradients by those of its parts. Exceptions have a
    // formula of their own for the gradient.
    const bool has_formula = row->aten == "aten::linear";
    if (!has_formula && op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
      return;
    }
    std::optional<Binding> binding = Bind(op.schema(), *row);
    if (!binding || !registered_.insert(op.operator_name()).second) return;
    std::string name = op.schema().name().substr(std::string_view("aten::").size());
    if (!op.schema().overload_name().empty()) name += '.' + op.schema().overload_name();
    library_.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                    std::make_unique<TableKernel>(row, std::move(*binding))));
  }

  struct Less {
    bool operator()(const c10::OperatorName& a, const c10::OperatorName& b) const {
      return std::pair(a.name, a.overload_name) < std::pair(b.name, b.overload_name);
    }
  };

  torch::Library& library_;
  std::map<std::string, std::vector<c10::OperatorName>> overloads_;
  std::set<c10::OperatorName, Less> registered_;
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  Registrar registrar(m);
  for (const OperatorRow& row : OperatorTable()) registrar.Add(row);
}

}  // namespace
}  // namespace spirloom::pytorch
