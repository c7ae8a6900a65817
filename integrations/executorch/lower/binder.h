// Calls of a delegate as nodes of a graph, by what the specs say of their names.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_BINDER_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_BINDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/value_map.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

inline constexpr int64_t kMostNumbers = 1 << 20;  // of a constant that is a table of numbers

// Stands in a node's name before the id of the call that it is made of.
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

  // Whether ops serve the call.
  bool Serves(const Call& call) const { return !FindServices(call).empty(); }
  // Adds its nodes and defines its results. Fails with kNotFound if no op serves the call, and with
  // kUnsupported or kInvalidFile for arguments that its ops cannot take.
  Status Bind(const Call& call);
  // Adds a node of an op of ours, by its arguments' names; those that are not there take their
  // defaults. Fails with kNotFound if the library lacks the op.
  Status Add(const Call& call, std::string_view op, std::map<std::string, schema::ArgT> given,
             std::vector<uint32_t> outputs);
  // The tensors that the call's result stands for.
  std::vector<uint32_t> Results(const Call& call) const;
  // A constant of `count` numbers.
  Result<uint32_t> Counting(double start, double step, int64_t count, DType dtype);
  // A number that varies as a tensor of rank 0: one of a table of all.
  Result<uint32_t> NumberTensor(const Call& call, const SymValue& number, DType dtype);
  // A number that varies as a tensor [1]: an element of an input stays on the device.
  Result<uint32_t> NumberList(const Call& call, const SymValue& number, DType dtype);

 private:
  // One for each part of the call, in order; none if any is missing.
  std::vector<const Service*> FindServices(const Call& call) const;
  bool Fits(const Service& service, const Call& call) const;
  std::optional<size_t> RankOf(const Call& call) const;
  // The dtype of the call's first tensor, which numbers in the place of tensors take.
  std::optional<DType> DTypeOf(const Call& call) const;

  Status BindPart(const Service& service, const Call& call);
  Status Fill(const Service& service, const Call& call, std::vector<schema::ArgT>& args);
  Status SetPlace(const Place& place, const OpInfo& op, uint32_t id, const Call& call,
                  std::vector<schema::ArgT>& args);
  Result<schema::ArgT> ToArg(const ArgInfo& arg, uint32_t id, const Call& call);
  Result<schema::ArgT> ToTensor(const ArgInfo& arg, uint32_t id, const Call& call);
  Result<schema::ArgT> ToInts(const ArgInfo& arg, uint32_t id);
  Result<schema::ArgT> ToNumber(uint32_t id);
  Result<schema::ArgT> SettingArg(const Setting& setting, const OpInfo& op, const Call& call,
                                  const std::vector<schema::ArgT>& args);
  Result<schema::ArgT> ValueArg(const ArgInfo& arg, const Constant& value);
  Result<std::vector<uint32_t>> DeclareResults(const OpInfo& op, const Call& call, uint32_t first);
  // The next value of the state that the call changes.
  Result<std::vector<uint32_t>> DeclareChange(const Service& service, const Call& call);

  const NameTable& names_;
  ValueMap& values_;
  GraphWriter& graph_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_BINDER_H_
