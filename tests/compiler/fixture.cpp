#include "tests/compiler/fixture.h"

#include <unistd.h>

#include <atomic>

#include "compiler/base/file_io.h"

namespace spirloom::compiler {
namespace {

namespace fs = std::filesystem;

fs::path NewDirectory() {
  static std::atomic<int> counter = 0;
  const fs::path directory =
      fs::temp_directory_path() /
      ("spirloom-compiler-test-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
  fs::create_directories(directory);
  return directory;
}

}  // namespace

std::string GlslParts::Text() const {
  return "#version 450\n#extension GL_GOOGLE_cpp_style_line_directive : require\n" + extensions +
         "#line 5 \"templates/glsl/scale.glsl.j2\"\n" + local_size + constants + push + bindings +
         functions +
         "#line 20 \"templates/glsl/scale.glsl.j2\"\n"
         "void main() {\n"
         "  int i = int(gl_GlobalInvocationID.x);\n"
         "  if (i >= n) return;\n  " +
         body + "\n}\n";
}

GlslParts ScaledF16() {
  GlslParts parts;
  parts.extensions = "#extension GL_EXT_shader_16bit_storage : require\n";
  parts.bindings =
      "layout(set = 0, binding = 0, std430) readonly buffer x_block { float16_t x_data[]; };\n"
      "layout(set = 0, binding = 1, std430) writeonly buffer y_block { float y_data[]; };\n";
  parts.body = "y_data[i] = float(x_data[i]) * SCALE;";
  return parts;
}

CompilerTest::CompilerTest()
    : directory_(NewDirectory()),
      manifest_({{"version", 3},
                 {"library", "test"},
                 {"registry", "registry.bin"},
                 {"variants", nlohmann::json::array()}}) {
  EXPECT_TRUE(WriteFileAtomically(directory_ / "registry.bin", "ops").ok());
  options_.manifest = directory_ / "manifest.json";
  options_.output = directory_ / "out" / "shaders.slpack";
  options_.jobs = 1;
}

CompilerTest::~CompilerTest() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

nlohmann::json& CompilerTest::AddVariant(const std::string& id, const std::string& glsl) {
  const std::string source = "glsl/" + id + ".glsl";
  EXPECT_TRUE(WriteFileAtomically(directory_ / source, glsl).ok());
  const auto at = [&id](int line) {
    return "op_specs/" + id + ".yaml:" + std::to_string(line) + ":3";
  };
  nlohmann::json& variants = manifest_["variants"];
  variants.push_back(
      {{"id", id},
       {"key", variants.size() + 1},
       {"source", source},
       {"target", "vulkan1.1"},
       {"at", at(1)},
       {"bindings",
        {{{"name", "x"}, {"type", "storage_buffer"}, {"access", "read"}, {"at", at(4)}},
         {{"name", "y"}, {"type", "storage_buffer"}, {"access", "write"}, {"at", at(5)}}}},
       {"push",
        {{{"name", "n"}, {"type", "int"}, {"count", 1}, {"offset", 0}, {"at", at(6)}},
         {{"name", "sizes"}, {"type", "int"}, {"count", 4}, {"offset", 4}, {"at", at(7)}}}},
       {"push_bytes", 20},
       {"constants", {{{"name", "SCALE"}, {"id", 3}, {"type", "float"}, {"at", at(8)}}}},
       {"workgroup", {64, 1, 1}},
       {"needs", nlohmann::json::array()},
       {"may_need", nlohmann::json::array()},
       {"loop_iterations", false},
       {"portable", true}});
  return variants.back();
}

Result<CompileReport> CompilerTest::Compile() {
  SPIRLOOM_TRY(WriteFileAtomically(options_.manifest, manifest_.dump()));
  return CompileManifest(options_);
}

std::string CompilerTest::CompileError() {
  const Result<CompileReport> report = Compile();
  EXPECT_FALSE(report.ok());
  return report.status().message();
}

std::string CompilerTest::PackBytes() const {
  Result<std::string> bytes = ReadFile(options_.output);
  return bytes.ok() ? std::move(bytes).value() : std::string();
}

}  // namespace spirloom::compiler
