#include "tools/races/race_check.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/text.h"
#include "tools/races/poisoned_memory.h"

namespace spirloom::tools {
namespace {

using graph::TensorResource;
using internal::ExecutionContext;

constexpr size_t kRecordedRuns = 3;
constexpr std::byte kPatterns[] = {std::byte{0xFF}, std::byte{0xA5}};

// The memory of the ranges of a tensor.
struct MemoryRange {
  uint32_t memory;
  uint64_t begin;
  uint64_t end;
};

class RaceChecker {
 public:
  RaceChecker(const ContextLoader& load, InputBytes inputs, size_t orders)
      : load_(load), inputs_(inputs), orders_(orders) {}

  Result<RaceReport> Run() {
    SPIRLOOM_TRY_ASSIGN(planned_, load_(nullptr));
    scratch_.emplace(planned_->device());
    accesses_ = AccessesOf(planned_->compiled());
    in_order_.resize(accesses_.size());
    std::iota(in_order_.begin(), in_order_.end(), 0U);
    report_.dispatches = accesses_.size();
    report_.results = Names().size();
    SPIRLOOM_TRY_ASSIGN(serial_, RunSerially(*planned_, inputs_, in_order_, *scratch_));
    SPIRLOOM_TRY_ASSIGN(const RunTrace again,
                        RunSerially(*planned_, inputs_, in_order_, *scratch_));
    if (Compare(RaceKind::kWithinDispatch, serial_, again)) return report_;
    SPIRLOOM_TRY(CheckSeparateMemory());
    if (!report_.faults.empty() && report_.faults.front().kind == RaceKind::kUninitializedRead) {
      return report_;
    }
    SPIRLOOM_TRY(CheckBarriers());
    return report_;
  }

 private:
  Status CheckSeparateMemory() {
    std::vector<RunTrace> separate;
    for (const std::byte pattern : kPatterns) {
      PoisonedMemory memory(*scratch_, pattern);
      SPIRLOOM_TRY_ASSIGN(const std::shared_ptr<ExecutionContext> context, load_(&memory));
      SPIRLOOM_TRY(memory.Refill());
      SPIRLOOM_TRY_ASSIGN(RunTrace trace, RunSerially(*context, inputs_, in_order_, *scratch_));
      separate.push_back(std::move(trace));
      if (separate.size() < std::size(kPatterns)) continue;
      if (Compare(RaceKind::kUninitializedRead, separate[0], separate[1])) return Status();
      if (Compare(RaceKind::kAliasing, separate[1], serial_)) AddOverwriter();
      SPIRLOOM_TRY(CheckOrders(*context, memory, separate[1]));
    }
    return Status();
  }

  Status CheckOrders(ExecutionContext& context, PoisonedMemory& memory, const RunTrace& expected) {
    for (uint32_t seed = 0; seed < orders_; ++seed) {
      SPIRLOOM_TRY(memory.Refill());
      SPIRLOOM_TRY_ASSIGN(const RunTrace trace,
                          RunSerially(context, inputs_, PermutedOrder(accesses_, seed), *scratch_));
      ++report_.orders;
      if (Compare(RaceKind::kUndeclaredAccess, expected, trace)) break;
    }
    return Status();
  }

  Status CheckBarriers() {
    for (size_t run = 0; run < kRecordedRuns; ++run) {
      SPIRLOOM_TRY_ASSIGN(const RunTrace trace, RunAsRecorded(*planned_, inputs_));
      if (!Compare(RaceKind::kMissingBarrier, serial_, trace)) continue;
      for (size_t count = 1; count <= accesses_.size(); ++count) {
        SPIRLOOM_TRY_ASSIGN(const uint64_t digest, RunFirst(*planned_, inputs_, count, *scratch_));
        if (digest == serial_.written[count - 1]) continue;
        report_.faults.back().dispatch = planned_->compiled().Profile()[count - 1];
        break;
      }
      break;
    }
    return Status();
  }

  // Adds a fault if the results differ. Returns whether they do.
  bool Compare(RaceKind kind, const RunTrace& expected, const RunTrace& trace) {
    const std::vector<std::string> names = Names();
    RaceFault fault{kind, {}};
    std::optional<uint32_t> cause;
    for (size_t i = 0; i < names.size(); ++i) {
      if (expected.results[i] == trace.results[i]) continue;
      fault.results.push_back(names[i]);
      if (cause || trace.written.empty()) continue;
      const uint32_t tensor = Results()[i];
      const graph::Plan& plan = planned_->compiled().plan();
      const uint64_t begin = plan.tensors[tensor].alias_offset;
      cause = FindCause(accesses_, expected.written, trace.written,
                        {plan.Root(tensor), begin, begin + plan.tensors[tensor].size});
    }
    if (fault.results.empty()) return false;
    cause_ = cause;
    if (cause) fault.dispatch = planned_->compiled().Profile()[*cause];
    report_.faults.push_back(std::move(fault));
    return true;
  }

  // Finds the dispatch that wrote into the memory of the operands of the last fault's dispatch,
  // after the dispatch that computed them.
  void AddOverwriter() {
    if (!cause_) return;
    for (const TensorRange& read : accesses_[*cause_].reads) {
      const std::optional<MemoryRange> memory = MemoryOf(read);
      if (!memory) continue;
      for (uint32_t i = *cause_; i-- > 0;) {
        const std::vector<TensorRange>& writes = accesses_[i].writes;
        if (std::ranges::any_of(writes, [&](const auto& w) { return w.Overlaps(read); })) break;
        const bool overwrites = std::ranges::any_of(writes, [&](const TensorRange& write) {
          const std::optional<MemoryRange> other = MemoryOf(write);
          return other && other->memory == memory->memory && other->begin < memory->end &&
                 memory->begin < other->end;
        });
        if (!overwrites) continue;
        report_.faults.back().overwritten_by = planned_->compiled().Profile()[i].node;
        return;
      }
    }
  }

  std::optional<MemoryRange> MemoryOf(const TensorRange& range) const {
    const TensorResource* resource = planned_->current().store->Find(range.tensor);
    if (resource == nullptr) return std::nullopt;
    if (resource->image) return MemoryRange{resource->memory, resource->begin, resource->end};
    return MemoryRange{resource->memory, resource->begin + range.begin,
                       resource->begin + range.end};
  }

  // The tensors of outputs and states, and their names.
  std::vector<uint32_t> Results() const {
    std::vector<uint32_t> tensors = planned_->compiled().plan().outputs;
    const std::vector<uint32_t>& states = planned_->compiled().plan().states;
    tensors.insert(tensors.end(), states.begin(), states.end());
    return tensors;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const TensorInfo& each : planned_->compiled().output_infos) names.push_back(each.name);
    for (const TensorInfo& each : planned_->compiled().state_infos) names.push_back(each.name);
    return names;
  }

  const ContextLoader& load_;
  const InputBytes inputs_;
  const size_t orders_;
  std::shared_ptr<ExecutionContext> planned_;  // with shared memory
  std::optional<Scratch> scratch_;
  std::vector<DispatchAccess> accesses_;
  std::vector<uint32_t> in_order_;
  RunTrace serial_;                // of `planned_`
  std::optional<uint32_t> cause_;  // of the last fault
  RaceReport report_;
};

const char* TextOf(RaceKind kind) {
  switch (kind) {
    case RaceKind::kWithinDispatch:
      return "race within a dispatch: the same dispatches, one at a time, give different bits";
    case RaceKind::kUninitializedRead:
      return "uninitialized read: the result depends on memory that nothing has written";
    case RaceKind::kAliasing:
      return "aliasing: the result is different if tensors do not share memory";
    case RaceKind::kMissingBarrier:
      return "missing barrier: the result is different if each dispatch waits for the previous one";
    case RaceKind::kUndeclaredAccess:
      return "undeclared access: the result depends on the order of dispatches that share no "
             "declared tensor";
  }
  return "";
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + Quote(name);
  return text;
}

}  // namespace

Result<RaceReport> CheckRaces(const ContextLoader& load, InputBytes inputs, size_t orders) {
  return RaceChecker(load, inputs, orders).Run();
}

std::string Describe(const RaceReport& report) {
  if (report.faults.empty()) {
    return Format(
        "{} dispatches: no races, uninitialized reads or wrong aliases. {} outputs and states have "
        "equal bits in all runs: as recorded, serialized, with separate memory of 0xFF and 0xA5, "
        "and in {} other orders.\n",
        std::to_string(report.dispatches), std::to_string(report.results),
        std::to_string(report.orders));
  }
  std::string text;
  for (const RaceFault& fault : report.faults) {
    text += Format("{}.\n  Different: {}\n", TextOf(fault.kind), Joined(fault.results));
    if (fault.dispatch) {
      text += Format("  First node with a different result: {} ({}, {})\n",
                     Quote(fault.dispatch->node), fault.dispatch->op, fault.dispatch->variant);
    }
    if (!fault.overwritten_by.empty()) {
      text += Format("  An operand was overwritten by node {}\n", Quote(fault.overwritten_by));
    }
  }
  return text;
}

}  // namespace spirloom::tools
