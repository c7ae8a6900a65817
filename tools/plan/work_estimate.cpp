#include "tools/plan/work_estimate.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace spirloom::tools {
namespace {

using graph::Arg;
using graph::Plan;
using graph::PlanNode;

double Product(const ops::Ints& shape, size_t first = 0) {
  double product = 1;
  for (size_t i = first; i < shape.size(); ++i) product *= static_cast<double>(shape[i]);
  return product;
}

// The shapes of the tensor arguments, in the order of the schema.
std::vector<ops::Ints> OperandShapes(const Plan& plan, const PlanNode& node) {
  std::vector<ops::Ints> shapes;
  for (const Arg& arg : node.args) {
    if (arg.kind != graph::ArgKind::kTensor && arg.kind != graph::ArgKind::kTensorList) continue;
    for (const uint32_t tensor : arg.tensors) {
      if (tensor != graph::kNoTensor) shapes.push_back(plan.tensors[tensor].desc.shape);
    }
  }
  return shapes;
}

// The last dimension of an operand: the length of the dot products of a GEMM.
double Reduced(const std::vector<ops::Ints>& operands, size_t i) {
  if (i >= operands.size() || operands[i].size() == 0) return 1;
  return static_cast<double>(operands[i][operands[i].size() - 1]);
}

}  // namespace

double OperationsOf(const Plan& plan, const PlanNode& node) {
  double outputs = 0;
  for (const uint32_t tensor : node.outputs) outputs += Product(plan.tensors[tensor].desc.shape);
  const std::vector<ops::Ints> operands = OperandShapes(plan, node);
  const std::string_view op = node.op == nullptr ? "copy" : node.op->op->name;
  const auto contains = [op](std::string_view part) { return op.find(part) != op.npos; };
  if (contains("addmm") || contains("baddbmm")) return 2 * outputs * Reduced(operands, 1);
  if (contains("gated_linear")) return 4 * outputs * Reduced(operands, 0);
  if (contains("linear") || contains("matmul") || op.ends_with("mm")) {
    return 2 * outputs * Reduced(operands, 0);
  }
  if (contains("conv") && operands.size() > 1) {
    const double taps = Product(operands[1], 1);  // per output, or per input of a transposed one
    return 2 * taps * (contains("conv_transpose") ? Product(operands[0]) : outputs);
  }
  if (contains("attention") && operands.size() > 1 && operands[1].size() > 1) {
    return 4 * outputs * static_cast<double>(operands[1][operands[1].size() - 2]);
  }
  double elements = outputs;
  for (const ops::Ints& shape : operands) elements = std::max(elements, Product(shape));
  return op == "copy" ? 0 : elements;
}

}  // namespace spirloom::tools
