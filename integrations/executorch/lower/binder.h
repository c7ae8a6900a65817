// Converts calls of a delegate to graph nodes by the op mappings of the name table.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_BINDER_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_BINDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/value_map.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

inline constexpr int64_t kMaxTableSize = 1 << 20;  // elements of a constant made by MakeArange()

// Separates the call's id in the name of a node: "<call name> #<id>".
inline constexpr std::string_view kIdMark = " #";

// The arguments of a call, without its result.
inline std::span<const uint32_t> ArgsOf(const Call& call) {
  return std::span(call.args).first(call.args.size() - 1);
}
inline uint32_t ResultOf(const Call& call) { return call.args.back(); }

class Binder {
 public:
  Binder(const NameTable& names, ValueMap& values, GraphWriter& graph)
      : names_(names), values_(values), graph_(graph) {}

  // Whether an op mapping matches the call.
  bool IsSupported(const Call& call) const { return !FindMappings(call).empty(); }
  // Adds the call's nodes and defines its results. Fails with kNotFound if no mapping matches the
  // call, and with kUnsupported or kInvalidFile for arguments that the ops do not accept.
  Status Bind(const Call& call);
  // Adds a node of a Spirloom op with named arguments; others have their defaults. Fails with
  // kNotFound if the op is not in the library.
  Status Add(const Call& call, std::string_view op, std::map<std::string, schema::ArgT> named_args,
             std::vector<uint32_t> outputs);
  // The call's results: the items of a list, or the single value.
  std::vector<uint32_t> Results(const Call& call) const;
  // A constant [count]: start, start + step, ….
  Result<uint32_t> MakeArange(double start, double step, int64_t count, DType dtype);
  // The symbolic int as a tensor of rank 0, which each run uploads.
  Result<uint32_t> SymIntScalar(const Call& call, const SymValue& value, DType dtype);
  // The symbolic int as a tensor [1], which each run uploads. An element of an input of the same
  // dtype is sliced from the input on the device.
  Result<uint32_t> SymIntVector(const Call& call, const SymValue& value, DType dtype);

 private:
  // One mapping per part of the call, in order; empty if a part has no match.
  std::vector<const OpMapping*> FindMappings(const Call& call) const;
  bool Matches(const OpMapping& mapping, const Call& call) const;
  std::optional<size_t> RankOf(const Call& call) const;
  // The dtype of the call's first tensor: the dtype of scalars that are passed as tensors.
  std::optional<DType> DTypeOf(const Call& call) const;

  Status BindPart(const OpMapping& mapping, const Call& call);
  Status Fill(const OpMapping& mapping, const Call& call, std::vector<schema::ArgT>& args);
  Status SetArg(const CallArg& call_arg, const OpInfo& op, uint32_t id, const Call& call,
                std::vector<schema::ArgT>& args);
  Result<schema::ArgT> ToArg(const ArgInfo& arg, uint32_t id, const Call& call);
  Result<schema::ArgT> ToTensor(const ArgInfo& arg, uint32_t id, const Call& call);
  Result<schema::ArgT> ToInts(const ArgInfo& arg, uint32_t id);
  Result<schema::ArgT> ToFloat(uint32_t id);
  Result<schema::ArgT> BoundArg(const ArgBinding& binding, const OpInfo& op, const Call& call,
                                const std::vector<schema::ArgT>& args);
  Result<schema::ArgT> ValueArg(const ArgInfo& arg, const Constant& value);
  Result<std::vector<uint32_t>> DeclareResults(const OpInfo& op, const Call& call, uint32_t first);
  // The tensor of a result, in the dtype that the op fixes if both are floats.
  uint32_t DeclareResult(uint32_t id, std::optional<DType> fixed);
  // Declares the next value of the state that the call updates in place.
  Result<std::vector<uint32_t>> DeclareMutation(const OpMapping& mapping, const Call& call);

  const NameTable& names_;
  ValueMap& values_;
  GraphWriter& graph_;
  // Constants of MakeArange(): start, step, count, dtype.
  std::map<std::tuple<double, double, int64_t, DType>, uint32_t> aranges_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_BINDER_H_
