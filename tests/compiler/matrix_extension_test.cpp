#include "compiler/spirv/matrix_extension.h"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_walker.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

// A multiply-add of matrices from shared memory; `more` is appended to main().
std::vector<uint32_t> Product(const std::string& more) {
  const std::string glsl = R"(#version 450
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(constant_id = 1000) const uint M = 16;
layout(constant_id = 1001) const uint N = 16;
layout(constant_id = 1002) const uint K = 16;
layout(set = 0, binding = 0) buffer X { uvec4 x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
shared uvec4 tile[64];
int unused(int at) {
  int twice[2] = int[](at, at + 1);
  return twice[at % 2];
}
void main() {
  int lane = int(gl_LocalInvocationID.x);
  tile[lane] = x[lane];
  barrier();
  fcoopmatNV<16, gl_ScopeSubgroup, M, K> left;
  fcoopmatNV<16, gl_ScopeSubgroup, K, N> right;
  fcoopmatNV<32, gl_ScopeSubgroup, M, N> sum = fcoopmatNV<32, gl_ScopeSubgroup, M, N>(0.0);
  coopMatLoadNV(left, tile, 0, 2, false);
  coopMatLoadNV(right, tile, 32, 2, false);
  sum = coopMatMulAddNV(left, right, sum);
  coopMatStoreNV(sum, y, 0, 16, false);
)" + more + "}\n";
  const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  return parsed.words;
}

// Removes `count` stores to shared memory, from store `first` on.
std::vector<uint32_t> WithoutStores(std::span<const uint32_t> module, size_t first, size_t count,
                                    size_t* total = nullptr) {
  std::vector<uint32_t> out(module.begin(), module.begin() + pack::spirv::kHeaderWords);
  size_t stores = 0;
  std::set<uint32_t> types;  // pointers to shared memory
  std::set<uint32_t> pointers;
  WalkSpirv(module, [&](const Instruction& in) {
    if (in.opcode == spv::OpTypePointer && in.Word(2) == spv::StorageClassWorkgroup)
      types.insert(in.Word(1));
    if (in.opcode == spv::OpAccessChain && types.contains(in.Word(1))) pointers.insert(in.Word(2));
    const bool shared = in.opcode == spv::OpStore && pointers.contains(in.Word(1));
    const bool removed = shared && stores >= first && stores < first + count;
    stores += shared ? 1 : 0;
    if (!removed) out.insert(out.end(), in.words.begin(), in.words.end());
    return true;
  });
  if (total != nullptr) *total = stores;
  return out;
}

size_t CountStores(std::span<const uint32_t> module) {
  size_t total = 0;
  WithoutStores(module, 0, 0, &total);
  return total;
}

TEST(MatrixExtension, CanBeRemovedAndRestored) {
  const std::vector<uint32_t> module = Product("");
  const std::vector<uint32_t> without = WithoutMatrixExtension(module);
  EXPECT_LT(without.size(), module.size());
  EXPECT_EQ(WithoutMatrixExtension(without), without);
  const std::vector<uint32_t> restored = WithMatrixExtension(without);
  EXPECT_EQ(WithoutMatrixExtension(restored), without);
  EXPECT_TRUE(Validate(restored, Target::kVulkan11).ok());
}

TEST(MatrixExtension, DeadCodeIsEliminated) {
  constexpr const char* kRead = "  y[256 + lane] = float(tile[lane].x);\n";
  const std::string dead = std::string(kRead) + "  int nothing = unused(lane);\n";
  const auto plain = ValueOf(Optimize(Product(kRead), Target::kVulkan11));
  const auto with_dead = ValueOf(Optimize(Product(dead), Target::kVulkan11));
  EXPECT_EQ(with_dead.size(), plain.size());
  EXPECT_TRUE(Validate(plain, Target::kVulkan11).ok());
}

TEST(MatrixExtension, StoresReadOnlyByMatrixLoadsAreKept) {
  const auto optimized = ValueOf(Optimize(Product(""), Target::kVulkan11));
  EXPECT_EQ(CountStores(optimized), 1u);
}

TEST(MatrixExtension, EachLostStoreToSharedMemoryIsDetected) {
  const auto module =
      ValueOf(Optimize(Product("  tile[lane] = x[lane + 32];\n"), Target::kVulkan11));
  ASSERT_EQ(CountStores(module), 2u);
  EXPECT_FALSE(LosesSharedWrites(module, module));
  for (const size_t removed : {0u, 1u}) {
    EXPECT_TRUE(LosesSharedWrites(module, WithoutStores(module, removed, 1)));
  }
  EXPECT_TRUE(LosesSharedWrites(module, WithoutStores(module, 0, 2)));
}

TEST(MatrixExtension, LostAtomicsAreDetected) {
  const auto module =
      ValueOf(Optimize(Product("  atomicAdd(tile[lane].x, 1u);\n  y[lane] = float(tile[0].x);\n"),
                       Target::kVulkan11));
  std::vector<uint32_t> without(module.begin(), module.begin() + pack::spirv::kHeaderWords);
  WalkSpirv(module, [&](const Instruction& in) {
    if (in.opcode != spv::OpAtomicIAdd)
      without.insert(without.end(), in.words.begin(), in.words.end());
    return true;
  });
  ASSERT_LT(without.size(), module.size());
  EXPECT_TRUE(LosesSharedWrites(module, without));
}

TEST(MatrixExtension, StoresThatNothingReadsMayGo) {
  const auto module = ValueOf(Optimize(Product(""), Target::kVulkan11));
  std::vector<uint32_t> unread(module.begin(), module.begin() + pack::spirv::kHeaderWords);
  WalkSpirv(module, [&](const Instruction& in) {
    const bool read = in.opcode == spv::OpCooperativeMatrixLoadNV;
    if (!read) unread.insert(unread.end(), in.words.begin(), in.words.end());
    return true;
  });
  EXPECT_FALSE(LosesSharedWrites(unread, WithoutStores(unread, 0, 1)));
}

}  // namespace
}  // namespace spirloom::compiler
