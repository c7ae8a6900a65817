// SPIR-V reflection: bindings, push-constant block, specialization constants, workgroup size,
// shared memory and capabilities of a module.
#ifndef SPIRLOOM_COMPILER_CHECKS_REFLECT_H_
#define SPIRLOOM_COMPILER_CHECKS_REFLECT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Names are empty in a module without debug names.
struct ReflectedBinding {
  std::string name;  // of the variable, or else of its block
  uint32_t set;
  uint32_t binding;
  // "storage_buffer", "sampled_image_3d", "sampled_image_2d_array", "sampled_image" (other
  // dimensions), the same with "storage_image", "combined_image_sampler", "uniform_buffer" or
  // "other".
  std::string type;
  bool read;  // an instruction reads its elements
  bool written;
  bool used;  // read, written, or its size is queried
};

struct ReflectedMember {
  std::string name;
  std::string type;  // "int", "uint", "float", or "other"
  uint32_t count;    // elements; 1 for a scalar
  uint32_t offset;   // bytes
  uint32_t stride;   // bytes between elements
};

struct ReflectedConstant {
  std::string name;
  uint32_t id;
  std::string type;  // "int", "uint", "float", "bool" or "other"
};

struct Reflection {
  std::vector<ReflectedBinding> bindings;  // sorted by set and binding
  bool has_push = false;
  std::vector<ReflectedMember> push;
  std::vector<ReflectedConstant> constants;              // without the workgroup size; sorted by id
  std::array<uint32_t, 3> workgroup = {1, 1, 1};         // defaults
  std::array<std::optional<uint32_t>, 3> workgroup_ids;  // specialization ids
  bool depends_on_workgroup = false;   // results may depend on the size of the workgroup
  uint64_t shared_bytes = 0;           // shared memory, with padding as in std430
  std::vector<uint32_t> capabilities;  // sorted
};

// Fails with kInvalidFile if `module` is not SPIR-V. Accesses are tracked through access chains and
// loads, but not through function parameters: exact for modules with inlined functions.
Result<Reflection> Reflect(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECKS_REFLECT_H_
