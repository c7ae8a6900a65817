// Converts values of programs and literals of specs to node arguments.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_ARGUMENTS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_ARGUMENTS_H_

#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

inline bool IsAbsent(const Value& value) { return std::holds_alternative<std::monostate>(value); }
// Whether the value equals the spec's literal. Ints and floats compare by numeric value.
bool Equals(const Value& value, const Constant& expected);
// Doubles out of float range become infinities: ExecuTorch passes a missing bound of a clamp as a
// very large double.
double AsFloat(double value);

schema::ArgT NoArg();
// The constant as a value of the argument's type; NoArg() for tensor arguments.
schema::ArgT ConstantArg(const ArgInfo& arg, const Constant& value);
// Sets unset arguments to their defaults. Fails for an argument without a default.
Status FillDefaults(const OpInfo& op, std::vector<schema::ArgT>& args);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_ARGUMENTS_H_
