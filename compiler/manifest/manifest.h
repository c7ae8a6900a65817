// manifest.json: the code generator's description of each variant
// (docs/explanation/build-pipeline.md).
#ifndef SPIRLOOM_COMPILER_MANIFEST_MANIFEST_H_
#define SPIRLOOM_COMPILER_MANIFEST_MANIFEST_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/target.h"
#include "runtime/pack/pack_format.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

enum class BindingAccess : uint8_t { kRead, kWrite, kReadWrite };

// The scalar types of push-constant members and specialization constants.
enum class ScalarType : uint8_t { kInt, kFloat, kBool };

// `at`, here and below, is the position in a spec, "file:line:column", for error messages.
struct Binding {
  std::string name;
  pack::BindingType type;
  BindingAccess access;
  std::string at;
};

struct PushMember {
  std::string name;
  ScalarType type;  // kInt or kFloat
  uint32_t count;   // elements; 1 for a scalar
  uint32_t offset;  // bytes
  std::string at;
};

struct Constant {
  std::string name;
  uint32_t id;
  ScalarType type;
  std::string at;
};

struct Variant {
  std::string id;
  uint64_t key = 0;
  std::string source;  // relative to the directory of the manifest
  Target target = Target::kVulkan11;
  std::string at;
  std::vector<Binding> bindings;  // index: binding number
  std::vector<PushMember> push;
  uint32_t push_bytes = 0;
  std::vector<Constant> constants;
  std::array<uint16_t, 3> workgroup = {1, 1, 1};
  uint64_t needs = 0;     // from the spec; bit i: pack::Capability i
  uint64_t may_need = 0;  // implied by dtypes; required only if the compiled module uses them
  bool loop_iterations = false;  // the spec declares the iterations of its loops
  bool portable = true;          // false: skipped if glslang does not support it
};

struct Manifest {
  std::string library;
  std::string registry;           // operator registry, relative to the directory of the manifest
  std::vector<Variant> variants;  // sorted by key, ids distinct
};

// Parses and checks untrusted `json`. Fails with kInvalidFile; the message names the element, e.g.
// "variants[3].push[0].type is 'double', not one of: int, float."
Result<Manifest> ParseManifest(std::string_view json);

const char* ScalarTypeName(ScalarType type);
const char* BindingTypeName(pack::BindingType type);
const char* BindingAccessName(BindingAccess access);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_MANIFEST_MANIFEST_H_
