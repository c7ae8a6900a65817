// Values that programs and specs write, as arguments of nodes.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_ARGUMENTS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_ARGUMENTS_H_

#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

inline bool IsAbsent(const Value& value) { return std::holds_alternative<std::monostate>(value); }
// Whether the value is the one that a spec asks for. Ints and floats are numbers.
bool Equals(const Value& value, const Constant& wanted);
// Numbers beyond what a float holds are its infinities: a clamp's "no bound" is a great double.
double AsFloat(double number);

schema::ArgT NoArg();
// The constant as a value of the argument's type; of a tensor's, none.
schema::ArgT ConstantArg(const ArgInfo& arg, const Constant& value);
// Gives what has no value its default. Fails naming an argument that has none.
Status FillDefaults(const OpInfo& op, std::vector<schema::ArgT>& args);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_ARGUMENTS_H_
