#include "compiler/spirv/optimize.h"

#include <algorithm>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#include <spirv/unified1/spirv.hpp>
#include <string_view>

#include "compiler/base/capabilities.h"
#include "compiler/spirv/division.h"
#include "compiler/spirv/early_return.h"
#include "compiler/spirv/matrix_extension.h"
#include "compiler/spirv/software_device.h"
#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

constexpr std::string_view kDeadCode = "--eliminate-dead-code-aggressive";

struct Pass {
  std::string_view flag;
  // SPIRV-Tools 2023.1 crashes in this pass on modules with cooperative matrices.
  bool skip_for_cooperative_matrix = false;
  bool strips = false;  // removes names and line information
};

// Removes names first, so that later passes do not process them. Then the passes of spirv-opt -O
// that affect compute shaders, in its order, with all functions inlined. They are split in two
// lists for HoistPushConstants(). Drivers unroll the loops with [[unroll]].
constexpr Pass kPasses[] = {
    {"--strip-debug", false, /*strips=*/true},
    {"--remove-duplicates"},
    {"--merge-return"},
    {"--inline-entry-points-exhaustive"},
    {"--eliminate-dead-functions"},
    {"--private-to-local"},
    {"--eliminate-local-single-block"},
    {"--eliminate-local-single-store"},
    {kDeadCode},
    {"--scalar-replacement=100"},
    {"--convert-local-access-chains"},
    {"--eliminate-local-single-block"},
    {"--eliminate-local-single-store"},
    {kDeadCode},
    {"--ssa-rewrite"},
    {"--ccp"},
    {kDeadCode},
    {"--eliminate-dead-branches"},
    {"--redundancy-elimination"},
    {"--simplify-instructions", /*skip_for_cooperative_matrix=*/true},
    {kDeadCode},
};
// With fewer divisions, inlining them makes a shorter module than a function.
constexpr size_t kCalledDivisions = 2;
constexpr Pass kInlineDivisions[] = {
    {"--inline-entry-points-exhaustive"},
    {"--eliminate-dead-functions"},
    {"--eliminate-local-single-store"},
    {kDeadCode},
    {"--simplify-instructions", /*skip_for_cooperative_matrix=*/true},
};
constexpr Pass kLastPasses[] = {
    {"--vector-dce"},
    {"--eliminate-dead-inserts"},
    {"--if-conversion"},
    {kDeadCode},
    {"--merge-blocks"},
    {"--redundancy-elimination"},
    {"--simplify-instructions", /*skip_for_cooperative_matrix=*/true},
};
// Runs after divisions have become calls again.
constexpr Pass kFinish[] = {
    {"--eliminate-dead-functions"},
    {kDeadCode},
    {"--compact-ids"},
};

bool HasCooperativeMatrix(std::span<const uint32_t> words) {
  bool found = false;
  WalkSpirv(words, [&](const Instruction& instruction) {
    // Capabilities are the first instructions of a module.
    if (instruction.opcode != spv::OpCapability) return false;
    found = found || instruction.Word(1) == spv::CapabilityCooperativeMatrixNV ||
            instruction.Word(1) == kCooperativeMatrixKhr;
    return true;
  });
  return found;
}

// Appends each message of level error or worse to `text`.
spvtools::MessageConsumer CollectErrors(std::string& text) {
  return
      [&text](spv_message_level_t level, const char*, const spv_position_t&, const char* message) {
        if (level > SPV_MSG_ERROR) return;
        if (!text.empty()) text += "; ";
        text += message;
      };
}

Result<std::vector<uint32_t>> RunPasses(std::span<const Pass> passes,
                                        std::span<const uint32_t> words, Target target,
                                        bool keep_lines) {
  // An Optimizer does nothing on its second run, so each module has its own.
  spvtools::Optimizer optimizer(SpirvToolsEnvironment(target));
  std::string errors;
  optimizer.SetMessageConsumer(CollectErrors(errors));
  const bool cooperative_matrix = HasCooperativeMatrix(words);
  for (const Pass& pass : passes) {
    if (cooperative_matrix && pass.skip_for_cooperative_matrix) continue;
    if (keep_lines && pass.strips) continue;
    if (!optimizer.RegisterPassFromFlag(std::string(pass.flag))) {
      return Status(StatusCode::kInternal,
                    "SPIRV-Tools has no pass " + std::string(pass.flag) + ".");
    }
  }
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  std::vector<uint32_t> optimized;
  if (!optimizer.Run(words.data(), words.size(), &optimized, options)) {
    return Status(StatusCode::kInternal, "The optimizer rejected the module: " + errors + ".");
  }
  return optimized;
}

// Runs the passes as RunPasses() does, for a module with matrices and without their extension. Sets
// `lost` if dead-code elimination removes writes to shared memory that the module reads.
Result<std::vector<uint32_t>> RunChecked(std::span<const Pass> passes,
                                         std::span<const uint32_t> words, Target target,
                                         bool keep_lines, bool& lost) {
  std::vector<uint32_t> module(words.begin(), words.end());
  while (!passes.empty()) {
    const auto next = std::ranges::find(passes, kDeadCode, &Pass::flag);
    const auto count = static_cast<size_t>(std::max<ptrdiff_t>(next - passes.begin(), 1));
    SPIRLOOM_TRY_ASSIGN(std::vector<uint32_t> result,
                        RunPasses(passes.first(count), module, target, keep_lines));
    lost = lost || (next == passes.begin() && LosesSharedWrites(module, result));
    module = std::move(result);
    passes = passes.subspan(count);
  }
  return module;
}

// `lost` is null unless the matrix extension was removed.
Result<std::vector<uint32_t>> RunAll(std::span<const uint32_t> words, Target target,
                                     bool keep_lines, bool* lost = nullptr) {
  const auto run = [&](std::span<const Pass> passes, std::span<const uint32_t> module) {
    return lost == nullptr ? RunPasses(passes, module, target, keep_lines)
                           : RunChecked(passes, module, target, keep_lines, *lost);
  };
  Result<std::vector<uint32_t>> module = run(kPasses, DivisionsAsInstructions(words));
  if (module.ok() && CountDivisions(*module) < kCalledDivisions) {
    module = run(kInlineDivisions, DivisionsAsCalls(*module));
  }
  if (module.ok()) module = run(kLastPasses, HoistPushConstants(RestoreEarlyReturns(*module)));
  if (module.ok()) module = run(kFinish, DivisionsAsCalls(*module));
  return module;
}

}  // namespace

Result<std::vector<uint32_t>> Optimize(std::span<const uint32_t> words, Target target,
                                       bool keep_lines) {
  if (HasCooperativeMatrix(words)) {
    bool lost = false;
    const auto module = RunAll(WithoutMatrixExtension(words), target, keep_lines, &lost);
    if (module.ok() && !lost) return WithMatrixExtension(*module);
  }
  return RunAll(words, target, keep_lines);
}

Status Validate(std::span<const uint32_t> words, Target target) {
  spvtools::SpirvTools tools(SpirvToolsEnvironment(target));
  std::string errors;
  tools.SetMessageConsumer(CollectErrors(errors));
  if (tools.Validate(words.data(), words.size())) return Status();
  return Status(StatusCode::kInvalidFile,
                errors.empty() ? "spirv-val rejected the module" : errors);
}

std::string OptimizerVersion() {
  std::string version = spvSoftwareVersionDetailsString();
  const auto add = [&](std::span<const Pass> passes) {
    for (const Pass& pass : passes) {
      version += " " + std::string(pass.flag) + (pass.skip_for_cooperative_matrix ? "?" : "");
    }
  };
  add(kPasses);
  version += " without the matrix extension; divisions";
  add(kInlineDivisions);
  version += " early returns; push constants first";
  add(kLastPasses);
  version += " division calls";
  add(kFinish);
  return version;
}

}  // namespace spirloom::compiler
