// A temporary directory with a manifest and GLSL files, for tests of the shader compiler.
#ifndef SPIRLOOM_TESTS_COMPILER_FIXTURE_H_
#define SPIRLOOM_TESTS_COMPILER_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "compiler/driver/compiler.h"

namespace spirloom::compiler {

// The parts of a variant's GLSL text that tests change. The defaults match
// CompilerTest::AddVariant().
struct GlslParts {
  std::string extensions;
  std::string local_size =
      "layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;\n"
      "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
  std::string constants = "layout(constant_id = 3) const float SCALE = 1.0;\n";
  std::string push = "layout(push_constant, std430) uniform Push { int n; int sizes[4]; };\n";
  std::string bindings =
      "layout(set = 0, binding = 0, std430) readonly buffer x_block { float x_data[]; };\n"
      "layout(set = 0, binding = 1, std430) writeonly buffer y_block { float y_data[]; };\n";
  std::string functions;
  std::string body = "y_data[i] = x_data[i] * SCALE + float(sizes[0]);";

  std::string Text() const;
};

// A shader with an fp16 input, which requires 16-bit storage.
GlslParts ScaledF16();

// Owns a temporary directory, and removes it in the destructor.
class CompilerTest : public testing::Test {
 protected:
  CompilerTest();
  ~CompilerTest() override;

  // Adds a variant that GlslParts{}.Text() satisfies, writes its GLSL file and returns its manifest
  // entry. Spec positions are "op_specs/<id>.yaml:<line>:3".
  nlohmann::json& AddVariant(const std::string& id, const std::string& glsl);
  // Writes the manifest and compiles it.
  Result<CompileReport> Compile();
  // The message of a compilation that must fail.
  std::string CompileError();
  std::string PackBytes() const;

  std::filesystem::path directory_;
  nlohmann::json manifest_;
  CompileOptions options_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_TESTS_COMPILER_FIXTURE_H_
