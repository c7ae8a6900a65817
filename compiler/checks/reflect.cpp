#include "compiler/checks/reflect.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <tuple>

#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/spirv_index.h"
#include "runtime/base/align.h"

namespace spirloom::compiler {
namespace {

std::string ScalarName(const Instruction& type) {
  switch (type.opcode) {
    case spv::OpTypeBool:
      return "bool";
    case spv::OpTypeInt:
      if (type.Word(2) != 32) return "other";
      return type.Word(3) != 0 ? "int" : "uint";
    case spv::OpTypeFloat:
      return type.Word(2) == 32 ? "float" : "other";
    default:
      return "other";
  }
}

// The words of an OpTypeImage: 3 "Dim", 5 "Arrayed", 7 "Sampled".
std::string ImageTypeOf(const Instruction& type) {
  // "Sampled" 2: a storage image.
  const std::string access = type.Word(7) == 2 ? "storage_image" : "sampled_image";
  if (type.Word(3) == spv::Dim3D && type.Word(5) == 0) return access + "_3d";
  if (type.Word(3) == spv::Dim2D && type.Word(5) == 1) return access + "_2d_array";
  return access;
}

std::string BindingTypeOf(const SpirvIndex& index, const Instruction& pointer) {
  const Instruction type = index.Definition(pointer.Word(3));
  switch (pointer.Word(2)) {
    case spv::StorageClassStorageBuffer:
      return type.opcode == spv::OpTypeStruct ? "storage_buffer" : "other";
    case spv::StorageClassUniform:
      return "uniform_buffer";
    case spv::StorageClassUniformConstant:
      if (type.opcode == spv::OpTypeSampledImage) return "combined_image_sampler";
      return type.opcode == spv::OpTypeImage ? ImageTypeOf(type) : "other";
    default:
      return "other";
  }
}

// Tracks pointers and images back to their variables, and records the accesses.
class UseCollector {
 public:
  explicit UseCollector(std::map<uint32_t, ReflectedBinding*> variables)
      : variables_(std::move(variables)) {}

  void Visit(const Instruction& in) {
    switch (in.opcode) {
      case spv::OpAccessChain:
      case spv::OpInBoundsAccessChain:
      case spv::OpCopyObject:
      case spv::OpSampledImage:
      case spv::OpImage:
      case spv::OpImageTexelPointer:
        Derive(in.Word(2), in.Word(3));
        break;
      case spv::OpLoad:
        // Loading an image variable does not access texels; the instructions that use the loaded
        // image do.
        if (IsImage(in.Word(3))) {
          Derive(in.Word(2), in.Word(3));
        } else {
          Read(in.Word(3));
        }
        break;
      case spv::OpStore:
        Write(in.Word(1));
        break;
      case spv::OpCopyMemory:
        Write(in.Word(1));
        Read(in.Word(2));
        break;
      case spv::OpImageSampleImplicitLod:
      case spv::OpImageSampleExplicitLod:
      case spv::OpImageFetch:
      case spv::OpImageGather:
      case spv::OpImageRead:
      case spv::OpCooperativeMatrixLoadNV:
      case khr::kOpLoad:
      case spv::OpAtomicLoad:
        Read(in.Word(3));
        break;
      case spv::OpImageWrite:
      case spv::OpCooperativeMatrixStoreNV:
      case khr::kOpStore:
      case spv::OpAtomicStore:
        Write(in.Word(1));
        break;
      case spv::OpArrayLength:
      case spv::OpImageQuerySizeLod:
      case spv::OpImageQuerySize:
      case spv::OpImageQueryLevels:
        Use(in.Word(3));
        break;
      default:
        if (in.opcode >= spv::OpAtomicExchange && in.opcode <= spv::OpAtomicXor) {
          Read(in.Word(3));
          Write(in.Word(3));
        }
        break;
    }
  }

 private:
  ReflectedBinding* Find(uint32_t id) const {
    const auto found = variables_.find(id);
    return found == variables_.end() ? nullptr : found->second;
  }
  bool IsImage(uint32_t id) const {
    const ReflectedBinding* binding = Find(id);
    return binding != nullptr && binding->type.find("image") != std::string::npos;
  }
  void Derive(uint32_t id, uint32_t from) {
    if (ReflectedBinding* binding = Find(from)) variables_[id] = binding;
  }
  void Use(uint32_t id) {
    if (ReflectedBinding* binding = Find(id)) binding->used = true;
  }
  void Read(uint32_t id) {
    Use(id);
    if (ReflectedBinding* binding = Find(id)) binding->read = true;
  }
  void Write(uint32_t id) {
    Use(id);
    if (ReflectedBinding* binding = Find(id)) binding->written = true;
  }

  std::map<uint32_t, ReflectedBinding*> variables_;
};

void ReflectBindings(const SpirvIndex& index, Reflection& reflection) {
  std::map<uint32_t, ReflectedBinding> found;
  for (const Instruction& variable : index.variables()) {
    const uint32_t id = variable.Word(2);
    const std::optional<uint32_t> binding = index.Decoration(id, spv::DecorationBinding);
    if (!binding) continue;
    const Instruction pointer = index.Definition(variable.Word(1));
    std::string name = index.Name(id);
    if (name.empty()) name = index.Name(pointer.Word(3));
    found[id] = {.name = std::move(name),
                 .set = index.Decoration(id, spv::DecorationDescriptorSet).value_or(0),
                 .binding = *binding,
                 .type = BindingTypeOf(index, pointer),
                 .read = false,
                 .written = false,
                 .used = false};
  }
  std::map<uint32_t, ReflectedBinding*> variables;
  for (auto& [id, binding] : found) variables[id] = &binding;
  UseCollector uses(std::move(variables));
  for (const Instruction& instruction : index.function_body()) uses.Visit(instruction);
  for (auto& [id, binding] : found) reflection.bindings.push_back(std::move(binding));
  std::stable_sort(reflection.bindings.begin(), reflection.bindings.end(),
                   [](const ReflectedBinding& a, const ReflectedBinding& b) {
                     return std::tie(a.set, a.binding) < std::tie(b.set, b.binding);
                   });
}

ReflectedMember ReflectMember(const SpirvIndex& index, const Instruction& block, uint32_t i) {
  const uint32_t block_id = block.Word(1);
  const uint32_t type_id = block.Word(2 + i);
  const Instruction type = index.Definition(type_id);
  ReflectedMember member = {
      .name = index.MemberName(block_id, i),
      .type = ScalarName(type),
      .count = 1,
      .offset = index.MemberDecoration(block_id, i, spv::DecorationOffset).value_or(0),
      .stride = 4};
  if (type.opcode == spv::OpTypeArray) {
    member.type = ScalarName(index.Definition(type.Word(2)));
    member.count = index.ConstantValue(type.Word(3));
    member.stride = index.Decoration(type_id, spv::DecorationArrayStride).value_or(0);
  } else if (type.opcode == spv::OpTypeVector) {
    member.type = ScalarName(index.Definition(type.Word(2)));
    member.count = type.Word(3);
  }
  return member;
}

void ReflectPush(const SpirvIndex& index, Reflection& reflection) {
  for (const Instruction& variable : index.variables()) {
    if (variable.Word(3) != spv::StorageClassPushConstant) continue;
    reflection.has_push = true;
    const Instruction block = index.Definition(index.Definition(variable.Word(1)).Word(3));
    if (block.opcode != spv::OpTypeStruct) continue;
    for (uint32_t i = 0; i + 2 < block.words.size(); ++i)
      reflection.push.push_back(ReflectMember(index, block, i));
  }
}

void ReflectWorkgroup(const SpirvIndex& index, Reflection& reflection) {
  if (index.local_size()) {
    for (size_t i = 0; i < 3; ++i) reflection.workgroup[i] = index.local_size()->Word(3 + i);
  }
  const std::optional<Instruction> size = index.WorkgroupSize();
  if (!size) return;
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t id = size->Word(3 + i);
    reflection.workgroup[i] = index.ConstantValue(id);
    reflection.workgroup_ids[i] = index.Decoration(id, spv::DecorationSpecId);
  }
}

// Size and alignment of a type in bytes.
struct Layout {
  uint64_t size = 0;
  uint64_t alignment = 1;
};

// Appends a member.
void Append(Layout& whole, const Layout& member) {
  whole.size = AlignUp(whole.size, member.alignment) + member.size;
  whole.alignment = std::max(whole.alignment, member.alignment);
}

// The layout of std430, which bounds the memory that drivers assign to shared variables.
Layout LayoutOf(const SpirvIndex& index, uint32_t type_id) {
  const Instruction type = index.Definition(type_id);
  switch (type.opcode) {
    case spv::OpTypeBool:
      return {4, 4};
    case spv::OpTypeInt:
    case spv::OpTypeFloat:
      return {type.Word(2) / 8, type.Word(2) / 8};
    case spv::OpTypeVector: {
      const uint64_t component = LayoutOf(index, type.Word(2)).size;
      const uint64_t count = type.Word(3);
      return {component * count, component * (count == 3 ? 4 : count)};
    }
    case spv::OpTypeMatrix:
    case spv::OpTypeArray: {
      const Layout element = LayoutOf(index, type.Word(2));
      const uint64_t count =
          type.opcode == spv::OpTypeMatrix ? type.Word(3) : index.ConstantValue(type.Word(3));
      return {count * AlignUp(element.size, element.alignment), element.alignment};
    }
    case spv::OpTypeStruct: {
      Layout whole;
      for (size_t i = 2; i < type.words.size(); ++i) Append(whole, LayoutOf(index, type.Word(i)));
      return {AlignUp(whole.size, whole.alignment), whole.alignment};
    }
    default:
      return {};
  }
}

void ReflectShared(const SpirvIndex& index, Reflection& reflection) {
  Layout whole;
  for (const Instruction& variable : index.variables()) {
    if (variable.Word(3) != spv::StorageClassWorkgroup) continue;
    Append(whole, LayoutOf(index, index.Definition(variable.Word(1)).Word(3)));
  }
  reflection.shared_bytes = whole.size;
}

// Whether the module uses shared memory, subgroup operations, or built-in variables that depend on
// the workgroup size (all except gl_GlobalInvocationID and gl_NumWorkGroups).
bool DependsOnWorkgroup(const SpirvIndex& index) {
  const auto depends = [&](const Instruction& variable) {
    if (variable.Word(3) == spv::StorageClassWorkgroup) return true;
    switch (index.Decoration(variable.Word(2), spv::DecorationBuiltIn).value_or(spv::BuiltInMax)) {
      case spv::BuiltInMax:
      case spv::BuiltInGlobalInvocationId:
      case spv::BuiltInNumWorkgroups:
        return false;
      default:
        return true;
    }
  };
  const auto is_subgroup_capability = [](uint32_t capability) {
    return capability >= spv::CapabilityGroupNonUniform &&
           capability <= spv::CapabilityGroupNonUniformQuad;
  };
  return std::ranges::any_of(index.variables(), depends) ||
         std::ranges::any_of(index.capabilities(), is_subgroup_capability);
}

void ReflectConstants(const SpirvIndex& index, Reflection& reflection) {
  for (const Instruction& constant : index.spec_constants()) {
    const std::optional<uint32_t> id = index.Decoration(constant.Word(2), spv::DecorationSpecId);
    const auto& sizes = reflection.workgroup_ids;
    if (!id || std::find(sizes.begin(), sizes.end(), id) != sizes.end()) continue;
    reflection.constants.push_back({.name = index.Name(constant.Word(2)),
                                    .id = *id,
                                    .type = ScalarName(index.Definition(constant.Word(1)))});
  }
  std::sort(reflection.constants.begin(), reflection.constants.end(),
            [](const ReflectedConstant& a, const ReflectedConstant& b) { return a.id < b.id; });
}

}  // namespace

Result<Reflection> Reflect(std::span<const uint32_t> module) {
  const std::optional<SpirvIndex> index = SpirvIndex::Create(module);
  if (!index) return Status(StatusCode::kInvalidFile, "The module is not well-formed SPIR-V.");
  Reflection reflection;
  ReflectBindings(*index, reflection);
  ReflectPush(*index, reflection);
  ReflectWorkgroup(*index, reflection);
  ReflectShared(*index, reflection);
  reflection.depends_on_workgroup = DependsOnWorkgroup(*index);
  ReflectConstants(*index, reflection);
  reflection.capabilities = index->capabilities();
  std::sort(reflection.capabilities.begin(), reflection.capabilities.end());
  return reflection;
}

}  // namespace spirloom::compiler
