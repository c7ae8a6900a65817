#include "compiler/driver/compile_variant.h"

#include <optional>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "compiler/base/file_io.h"
#include "compiler/checks/check.h"
#include "compiler/checks/loops.h"
#include "compiler/checks/reflect.h"
#include "compiler/checks/uniformity.h"
#include "compiler/driver/member_sources.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/bfloat16_operands.h"
#include "compiler/spirv/cooperative_matrix.h"
#include "compiler/spirv/matrix_check.h"
#include "compiler/spirv/matrix_length.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/source_texts.h"
#include "compiler/spirv/spirv_index.h"
#include "runtime/base/error.h"
#include "runtime/pack/capability.h"

namespace spirloom::compiler {
namespace {

CompiledVariant Failure(const Variant& variant, std::string message) {
  CompiledVariant result;
  result.errors.push_back({variant.at, std::move(message), variant.id});
  return result;
}

// Errors of glslang: the errors of a portable variant, or the reason to skip another variant.
CompiledVariant GlslFailure(const Variant& variant, const std::vector<GlslError>& errors) {
  CompiledVariant result;
  if (!variant.portable) {
    result.skip_reason = errors.front().where + ": " + errors.front().message;
    return result;
  }
  for (const GlslError& error : errors)
    result.errors.push_back({error.where, error.message, variant.id});
  return result;
}

// The module of glslang, with the lengths of matrices in functions.
GlslResult Parse(const Variant& variant, std::string_view glsl, DebugInfo debug_info) {
  GlslResult parsed = GlslToSpirv(glsl, variant.source, variant.target, debug_info);
  if (parsed.errors.empty()) parsed.words = WithLengthsInFunctions(parsed.words);
  return parsed;
}

// The optimized module has no line information; this is the variant's with it.
Result<std::vector<uint32_t>> WithLines(const Variant& variant, std::string_view glsl) {
  const GlslResult parsed = Parse(variant, glsl, DebugInfo::kLines);
  return Optimize(parsed.words, variant.target, /*keep_lines=*/true);
}

// Returns an error for each barrier in divergent control flow.
std::vector<Diagnostic> CheckBarriers(const Variant& variant, std::string_view glsl,
                                      std::span<const uint32_t> optimized) {
  std::vector<DivergentBarrier> found = FindDivergentBarriers(optimized);
  if (found.empty()) return {};
  const Result<std::vector<uint32_t>> with_lines = WithLines(variant, glsl);
  if (with_lines.ok()) {
    std::vector<DivergentBarrier> located = FindDivergentBarriers(*with_lines);
    if (!located.empty()) found = std::move(located);
  }
  std::vector<Diagnostic> errors;
  for (const DivergentBarrier& barrier : found) {
    const std::string condition =
        barrier.condition.empty() ? "" : " (the condition at " + barrier.condition + ")";
    errors.push_back({barrier.where.empty() ? variant.at : barrier.where,
                      "Some invocations of a workgroup may not reach this barrier" + condition +
                          ". Move it to uniform control flow, or let the condition depend only on "
                          "constants, push "
                          "constants and gl_WorkGroupID.",
                      variant.id});
  }
  return errors;
}

// Returns an error for each loop without a bounded trip count, unless the spec declares the
// iterations. Positions as in CheckBarriers().
std::vector<Diagnostic> CheckLoops(const Variant& variant, std::string_view glsl,
                                   std::span<const uint32_t> optimized) {
  if (variant.loop_iterations) return {};
  std::vector<std::string> found = FindUnboundedLoops(optimized);
  if (found.empty()) return {};
  const Result<std::vector<uint32_t>> with_lines = WithLines(variant, glsl);
  if (with_lines.ok()) {
    std::vector<std::string> located = FindUnboundedLoops(*with_lines);
    if (!located.empty()) found = std::move(located);
  }
  std::vector<Diagnostic> errors;
  for (const std::string& where : found) {
    errors.push_back({where.empty() ? variant.at : where,
                      "The trip count of this loop is not a constant. Declare the maximum "
                      "iterations of an invocation, in all loops together, as `loop_iterations` of "
                      "the kernel or its template's defaults: some drivers limit them.",
                      variant.id});
  }
  return errors;
}

// Converts the matrices of the optimized, valid module to the extensions that devices support.
Result<std::vector<uint32_t>> Finalize(const Variant& variant,
                                       std::span<const uint32_t> optimized) {
  SPIRLOOM_TRY_ASSIGN(std::vector<uint32_t> finished, WithKhrMatrices(optimized));
  if ((variant.needs & pack::CapabilityBit(pack::Capability::kBFloat16Matrix)) != 0) {
    SPIRLOOM_TRY_ASSIGN(finished, WithBFloat16Operands(finished));
  }
  SPIRLOOM_TRY(CheckConvertedMatrices(optimized, finished));
  return finished;
}

// Whether a module of glslang computes values outside of functions: constants from specialization
// constants, which have names, or the initial values of global variables. All private variables
// count, since glslang moves the computation of their initial values to the entry point.
bool ComputesOutsideFunctions(std::span<const uint32_t> module) {
  const std::optional<SpirvIndex> index = SpirvIndex::Create(module);
  if (!index) return false;
  const std::optional<Instruction> workgroup_size = index->WorkgroupSize();
  bool found = false;
  WalkSpirv(module, [&](const Instruction& instruction) {
    const uint32_t id = instruction.Word(2);
    const bool is_workgroup_size = workgroup_size && workgroup_size->Word(2) == id;
    if (instruction.opcode == spv::OpSpecConstantOp ||
        instruction.opcode == spv::OpSpecConstantComposite)
      found |= !index->Name(id).empty() && !is_workgroup_size;
    if (instruction.opcode == spv::OpVariable)
      found |= instruction.Word(3) == spv::StorageClassPrivate;
    return instruction.opcode != spv::OpFunction;
  });
  return found;
}

// The texts of `glsl` and of its templates below `root`; those that cannot be read are empty.
SourceFiles ReadSources(const Variant& variant, std::string_view glsl,
                        const std::filesystem::path& root) {
  SourceFiles sources = {{variant.source, std::string(glsl)}};
  for (const std::string& file : NamedFiles(glsl)) {
    const Result<std::string> text = ReadFile(root / file);
    sources.emplace(file, text.ok() ? *text : "");
  }
  return sources;
}

// Returns the variant's module with its source and without optimization, which debuggers can step
// through. Scopes and variables are included where glslang describes them correctly: it does not
// for cooperative matrices, for arrays whose size is a specialization constant, and for values that
// are computed outside of functions.
Result<std::vector<uint32_t>> WithSource(const Variant& variant, std::string_view glsl,
                                         const std::filesystem::path& root) {
  const SourceFiles sources = ReadSources(variant, glsl, root);
  GlslResult parsed = Parse(variant, glsl, DebugInfo::kSource);
  if (!ComputesOutsideFunctions(parsed.words)) {
    GlslResult scoped = Parse(variant, glsl, DebugInfo::kShader);
    scoped.words = WithMemberSources(scoped.words, glsl);
    if (scoped.errors.empty() && Validate(scoped.words, variant.target).ok())
      parsed = std::move(scoped);
  }
  const std::vector<uint32_t> module = WithSourceTexts(parsed.words, sources);
  SPIRLOOM_TRY_WHILE(Validate(module, variant.target), "adding debug information");
  return Finalize(variant, module);
}

}  // namespace

CompiledVariant CompileVariant(const Variant& variant, std::string_view glsl,
                               const std::filesystem::path& debug_root, TimeTrace* trace,
                               size_t thread) {
  const auto time = [&](const char* phase) { return PhaseTimer(trace, thread, phase, variant.id); };
  GlslResult parsed;
  {
    const PhaseTimer timer = time("parse");
    parsed = Parse(variant, glsl, debug_root.empty() ? DebugInfo::kNone : DebugInfo::kSource);
  }
  if (!parsed.errors.empty()) return GlslFailure(variant, parsed.errors);

  Result<std::vector<uint32_t>> optimized = std::vector<uint32_t>();
  {
    const PhaseTimer timer = time("optimize");
    optimized = Optimize(parsed.words, variant.target);
  }
  if (!optimized.ok()) return Failure(variant, optimized.status().message());
  {
    const PhaseTimer timer = time("validate");
    const Status status = Validate(*optimized, variant.target);
    if (!status.ok())
      return Failure(variant, "The module is not valid SPIR-V: " + status.message());
  }
  const PhaseTimer timer = time("check");
  const Result<std::vector<uint32_t>> declared = WithKhrMatrices(parsed.words);
  Result<std::vector<uint32_t>> finished = Finalize(variant, *optimized);
  if (!declared.ok()) return Failure(variant, declared.status().message());
  if (!finished.ok()) return Failure(variant, finished.status().message());
  const Result<Reflection> before = Reflect(*declared);
  const Result<Reflection> after = Reflect(*finished);
  if (!before.ok()) return Failure(variant, before.status().message());
  if (!after.ok()) return Failure(variant, after.status().message());
  CompiledVariant result;
  result.errors = CheckVariant(variant, *before, *after);
  for (Diagnostic& error : CheckBarriers(variant, glsl, *optimized)) {
    result.errors.push_back(std::move(error));
  }
  for (Diagnostic& error : CheckLoops(variant, glsl, *optimized)) {
    result.errors.push_back(std::move(error));
  }
  if (!result.errors.empty()) return result;
  if (!debug_root.empty()) {
    finished = WithSource(variant, glsl, debug_root);
    if (!finished.ok()) return Failure(variant, finished.status().message());
  }
  result.words = std::move(finished).value();
  return result;
}

}  // namespace spirloom::compiler
