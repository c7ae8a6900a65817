// What a SPIR-V module says of itself: its bindings, push-constant block, specialisation constants,
// workgroup size, shared memory and capabilities.
#ifndef SPIRLOOM_COMPILER_REFLECT_H_
#define SPIRLOOM_COMPILER_REFLECT_H_

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
  std::string name;  // of the variable, or of its block
  uint32_t set;
  uint32_t binding;
  // "storage_buffer", "sampled_image_3d", "sampled_image_2d_array", "sampled_image" for one of
  // other dimensions, the same with "storage_image", "combined_image_sampler", "uniform_buffer" or
  // "other".
  std::string type;
  bool read;  // some instruction reads its elements
  bool written;
  bool used;  // read, written, or asked for its size
};

struct ReflectedMember {
  std::string name;
  std::string type;  // "int", "uint", "float", or "other"
  uint32_t count;    // elements; 1 for a scalar
  uint32_t offset;   // bytes
  uint32_t stride;   // bytes from element to element
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
  std::vector<ReflectedConstant> constants;  // those of the workgroup size excluded; sorted by id
  std::array<uint32_t, 3> workgroup = {1, 1, 1};         // defaults
  std::array<std::optional<uint32_t>, 3> workgroup_ids;  // specialisation ids
  bool sees_workgroup = false;         // its code depends on what runs in one workgroup with it
  uint64_t shared_bytes = 0;           // of the workgroup's memory, without padding
  std::vector<uint32_t> capabilities;  // sorted
};

// Fails with kInvalidFile if `module` is not SPIR-V. Uses are seen through access chains and loads,
// not through function parameters: exact for modules whose functions are inlined.
Result<Reflection> Reflect(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_REFLECT_H_
