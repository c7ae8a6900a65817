#include "compiler/glsl/glsl_to_spirv.h"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>
#include <glslang/build_info.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "compiler/glsl/glsl_functions.h"
#include "compiler/glsl/spec_columns.h"

namespace spirloom::compiler {
namespace {

constexpr int kDefaultGlslVersion = 450;

// The process-wide state of glslang with its built-in symbols. Initialized on first use.
class Glslang {
 public:
  static void Initialize() { static const Glslang instance; }
  Glslang(const Glslang&) = delete;
  Glslang& operator=(const Glslang&) = delete;

 private:
  Glslang() { glslang::InitializeProcess(); }
  ~Glslang() { glslang::FinalizeProcess(); }
};

void SetTarget(glslang::TShader& shader, Target target) {
  using glslang::EShTargetSpv_1_3;
  using glslang::EShTargetSpv_1_5;
  glslang::EShTargetClientVersion vulkan = glslang::EShTargetVulkan_1_1;
  glslang::EShTargetLanguageVersion spirv = EShTargetSpv_1_3;
  if (target == Target::kVulkan12) {
    vulkan = glslang::EShTargetVulkan_1_2;
    spirv = EShTargetSpv_1_5;
  } else if (target == Target::kVulkan13) {
    // Not SPIR-V 1.6: there, glslang emits LocalSizeId, which requires maintenance4.
    vulkan = glslang::EShTargetVulkan_1_3;
    spirv = EShTargetSpv_1_5;
  }
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan,
                     /*version=*/100);
  shader.setEnvClient(glslang::EShClientVulkan, vulkan);
  shader.setEnvTarget(glslang::EShTargetSpv, spirv);
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Removes an empty token ("'' :") from the start of a glslang message.
std::string MessageOf(std::string_view text) {
  constexpr std::string_view kNoToken = "'' :";
  if (StartsWith(text, kNoToken)) text.remove_prefix(kNoToken.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return std::string(text);
}

// Splits "file:line: message"; the file name may contain colons. Link errors have no position and
// are reported at `file_name`:1.
GlslError ParseErrorLine(std::string_view line, const std::string& file_name) {
  constexpr std::string_view kDigits = "0123456789";
  for (size_t colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    const size_t end = line.find_first_not_of(kDigits, colon + 1);
    if (end == std::string_view::npos || end == colon + 1 || line.substr(end, 2) != ": ") continue;
    return {std::string(line.substr(0, end)), MessageOf(line.substr(end + 2))};
  }
  return {file_name + ":1", std::string(line)};
}

constexpr std::string_view kRecursion = "Recursion detected:";

// Converts a recursion message, which ends in "f(i1; calling g(i1;", to an error at the definition
// of f.
void ExplainRecursion(GlslError& error, const std::vector<GlslFunction>& functions) {
  constexpr std::string_view kCalling = " calling ";
  const size_t begin = error.message.find(kRecursion);
  const size_t calling = error.message.find(kCalling);
  if (begin == std::string::npos || calling == std::string::npos) return;
  const auto name_at = [&](size_t from) {
    return error.message.substr(from, error.message.find('(', from) - from);
  };
  const std::string caller =
      name_at(std::min(error.message.find_first_not_of(' ', begin + kRecursion.size()), calling));
  const std::string called = name_at(calling + kCalling.size());
  for (const GlslFunction& function : functions)  // the definition follows its prototypes
    if (function.name == caller) error.where = function.where;
  error.message = "'" + caller + "' : calls itself" +
                  (called == caller ? "" : " through '" + called + "'") +
                  "; GLSL does not support recursion";
}

// The log of glslang for `glsl` in the form of WithSpecColumns(); empty if no line is of a spec.
std::string LogWithSpecColumns(std::string_view glsl, const std::string& file_name, Target target,
                               EShMessages rules, const char* preamble) {
  const std::string tokens = WithSpecColumns(glsl);
  if (tokens.empty()) return "";
  const char* text = tokens.data();
  const int length = static_cast<int>(tokens.size());
  const char* name = file_name.c_str();
  glslang::TShader shader(EShLangCompute);
  shader.setStringsWithLengthsAndNames(&text, &length, &name, /*n=*/1);
  SetTarget(shader, target);
  shader.setPreamble(preamble);
  shader.parse(GetDefaultResources(), kDefaultGlslVersion, /*forwardCompatible=*/false, rules);
  return shader.getInfoLog();
}

// Takes the positions of `located`, which has the same errors.
void TakePositions(std::vector<GlslError>& errors, const std::vector<GlslError>& located) {
  const bool same =
      std::ranges::equal(errors, located, {}, &GlslError::message, &GlslError::message);
  if (same) errors = located;
}

// The tensor name of an accessor function, e.g. "x" for "x_load"; empty for other functions.
std::string TensorOf(const std::string& function) {
  constexpr std::array<std::string_view, 8> kAccessors = {
      "_load", "_load4", "_store", "_store4", "_texel", "_store_texel", "_nchw", "_flat"};
  size_t suffix = 0;
  for (const std::string_view accessor : kAccessors)
    if (function.ends_with(accessor)) suffix = std::max(suffix, accessor.size());
  return suffix == 0 ? "" : function.substr(0, function.size() - suffix);
}

// Extends a "no matching overloaded function" message: lists the declarations of that name, or, if
// there are none and the name is an accessor, the accessors of that tensor in this variant.
void ExplainCall(GlslError& error, const std::vector<GlslFunction>& functions) {
  const size_t end = error.message.find("' : no matching overloaded function found");
  if (end == std::string::npos || end == 0) return;
  const std::string name = error.message.substr(1, end - 1);
  std::string declared;
  std::string accessors;
  for (const GlslFunction& function : functions) {
    if (function.name == name) declared += (declared.empty() ? "" : ", ") + function.declaration;
    if (!TensorOf(name).empty() && TensorOf(function.name) == TensorOf(name))
      accessors += (accessors.empty() ? "" : ", ") + function.name;
  }
  if (!declared.empty()) {
    error.message += "; it is declared as: " + declared;
  } else if (!accessors.empty()) {
    error.message +=
        "; the accessors of '" + TensorOf(name) + "' in this variant are: " + accessors;
  }
}

// Explains that texts, which only debugPrintfEXT() accepts, are not part of regular builds.
void ExplainPrintf(GlslError& error) {
  constexpr std::string_view kText = "'string literal' : required extension not requested";
  if (!StartsWith(error.message, kText)) return;
  error.message = "debugPrintfEXT() requires --debug-shaders (SPIRLOOM_DEBUG_SHADERS)";
}

}  // namespace

std::vector<GlslError> ParseGlslLog(std::string_view log, const std::string& file_name) {
  constexpr std::string_view kError = "ERROR: ";
  // The last lines of a log only summarize.
  constexpr std::string_view kTerminated = "'' : compilation terminated";
  constexpr std::string_view kCount = "compilation errors.  No code generated.";
  std::vector<GlslError> errors;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    const bool is_end = line.find(kTerminated) != std::string_view::npos ||
                        line.find(kCount) != std::string_view::npos;
    if (!StartsWith(line, kError) || is_end) continue;
    line.remove_prefix(kError.size());
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    errors.push_back(ParseErrorLine(line, file_name));
    if (line.ends_with(kRecursion)) errors.back().message += log.substr(0, log.find('\n'));
  }
  return errors;
}

GlslResult GlslToSpirv(std::string_view glsl, const std::string& file_name, Target target,
                       DebugInfo debug_info) {
  Glslang::Initialize();
  const char* text = glsl.data();
  const int length = static_cast<int>(glsl.size());
  const char* name = file_name.c_str();
  const bool shader_info = debug_info == DebugInfo::kShader;
  const bool source = shader_info || debug_info == DebugInfo::kSource;
  const auto rules = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules |
                                              (source ? EShMsgDebugInfo : EShMsgDefault));

  GlslResult result;
  const char* preamble = source ? "#extension GL_EXT_debug_printf : require\n" : "";
  const auto fail = [&](const std::string& log) {
    result.errors = ParseGlslLog(log, file_name);
    TakePositions(
        result.errors,
        ParseGlslLog(LogWithSpecColumns(glsl, file_name, target, rules, preamble), file_name));
    const std::vector<GlslFunction> functions = FunctionsOf(glsl, file_name);
    for (GlslError& error : result.errors) {
      ExplainRecursion(error, functions);
      ExplainCall(error, functions);
      ExplainPrintf(error);
    }
    if (result.errors.empty())
      result.errors.push_back({file_name + ":1", "glslang generated no code"});
  };
  glslang::TShader shader(EShLangCompute);
  shader.setStringsWithLengthsAndNames(&text, &length, &name, /*n=*/1);
  SetTarget(shader, target);
  shader.setPreamble(preamble);
  if (!shader.parse(GetDefaultResources(), kDefaultGlslVersion, /*forwardCompatible=*/false,
                    rules)) {
    fail(shader.getInfoLog());
    return result;
  }
  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(rules)) {
    fail(program.getInfoLog());
    return result;
  }
  spv::SpvBuildLogger logger;
  glslang::SpvOptions options;
  options.disableOptimizer = true;
  options.generateDebugInfo = debug_info != DebugInfo::kNone;
  options.emitNonSemanticShaderDebugInfo = shader_info;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), result.words, &logger, &options);
  // GlslangToSpv() returns a module even if it failed; failures are only in the log.
  const std::string messages = logger.getAllMessages();
  if (messages.find("error: ") != std::string::npos ||
      messages.find("Missing functionality") != std::string::npos) {
    result.words.clear();
    result.errors.push_back({file_name + ":1", messages.substr(0, messages.find('\n'))});
  }
  return result;
}

std::set<std::string> NamedFiles(std::string_view glsl) {
  constexpr std::string_view kLine = "#line ";
  std::set<std::string> files;
  while (!glsl.empty()) {
    const size_t end = std::min(glsl.find('\n'), glsl.size());
    const std::string_view line = glsl.substr(0, end);
    glsl.remove_prefix(std::min(end + 1, glsl.size()));
    const size_t open = line.find('"');
    const size_t close = line.rfind('"');
    if (StartsWith(line, kLine) && open < close)
      files.emplace(line.substr(open + 1, close - open - 1));
  }
  return files;
}

std::string GlslangVersion() {
  return "glslang " + std::to_string(GLSLANG_VERSION_MAJOR) + "." +
         std::to_string(GLSLANG_VERSION_MINOR) + "." + std::to_string(GLSLANG_VERSION_PATCH) +
         GLSLANG_VERSION_FLAVOR " generator " + std::to_string(glslang::GetSpirvGeneratorVersion());
}

}  // namespace spirloom::compiler
