#include "tests/support/pack_builder.h"

#include <xxhash.h>

#include <cstring>

namespace spirloom::testing {
namespace {

constexpr uint32_t kModuleWords[] = {0x07230203, 0x00010300, 0, 1, 0, 0x00020011};

size_t Align(size_t offset) {
  return (offset + pack::kPackAlignment - 1) / pack::kPackAlignment * pack::kPackAlignment;
}

// An integer below 128, which takes one byte.
std::string Integer(size_t value) { return std::string(1, static_cast<char>(value)); }

// A length-prefixed, null-terminated string.
std::string Text(const std::string& value) { return Integer(value.size()) + value + '\0'; }

std::string Packed(const PackedOperand& operand) {
  std::string text = Text(operand.name) +
                     Integer(operand.intermediate ? 2
                             : operand.output     ? 1
                                                  : 0) +
                     Integer(operand.index) + Integer(static_cast<size_t>(operand.access)) +
                     Integer(static_cast<size_t>(operand.storage)) + Integer(0) +
                     Text(operand.pack_op);
  if (operand.pack_op.empty()) return text;
  return text + std::string("\1\2\3", 3) + Integer(operand.index);  // one formula: the argument
}

std::string Packed(const PackedKernel& kernel) {
  std::string text =
      Text(kernel.name) + Integer(0) + Integer(2) + Integer(0);  // buffers, no push constants
  text += std::string(6, '\0');  // no when, prefer, loop_iterations, repeat, concat_offset, axes
  text += Integer(kernel.operands.size());
  for (const PackedOperand& operand : kernel.operands) text += Packed(operand);
  text += std::string(2, '\0');  // no push constants, no specialization constants
  for (int i = 0; i < 3; ++i) text += std::string("\2\0\2", 3);  // the grid: 1
  return text;
}

std::string Packed(const PackedOp& op) {
  std::string text = Text(op.name) + Text(op.short_name) + Integer(op.view_of);
  text += Integer(op.args.size());
  for (size_t i = 0; i < op.args.size(); ++i) {
    text += Text(op.args[i]) + std::string(3, '\0');  // any rank
    text += i < op.defaults.size() ? op.defaults[i] : std::string(1, '\0');
  }
  text += std::string(op.args.size(), '\0');  // any dtype
  text += std::string(2, '\0');               // no lets, no steps
  text += Integer(op.outputs);
  for (size_t i = 0; i < op.outputs; ++i) {
    text += std::string("\2\x0a\0\2\0\0", 6);  // shape [], dtype f32
    text += Integer(i < op.updates.size() ? op.updates[i] : 0);
  }
  text += Integer(0) + Integer(op.kernels.size());  // no view offset
  for (const PackedKernel& kernel : op.kernels) text += Packed(kernel);
  return text;
}

}  // namespace

std::string RegistryOfOps(const std::string& library, const std::vector<PackedOp>& ops,
                          bool overrides) {
  std::string registry =
      Text(library) + static_cast<char>(overrides ? 1 : 0) + static_cast<char>(ops.size());
  for (const PackedOp& op : ops) registry += Packed(op);
  return registry;
}

std::string RegistryOf(const std::string& library, const std::vector<std::string>& ops,
                       bool overrides) {
  std::vector<PackedOp> packed;
  for (const std::string& op : ops) packed.push_back({.name = op, .short_name = op});
  return RegistryOfOps(library, packed, overrides);
}

PackBytes MakePack(const std::vector<uint64_t>& keys, const std::string& registry) {
  std::string names;
  std::vector<uint32_t> name_offsets;
  for (size_t i = 0; i < keys.size(); ++i) {
    name_offsets.push_back(static_cast<uint32_t>(names.size()));
    names += "variant_" + std::to_string(i) + '\0';
  }
  const size_t variants = Align(sizeof(pack::PackHeader));
  const size_t modules = Align(variants + keys.size() * sizeof(pack::VariantRow));
  const size_t strings = Align(modules + sizeof(pack::ModuleRow));
  const size_t ops = Align(strings + names.size());
  const size_t code = Align(ops + registry.size());
  PackBytes pack(code + sizeof(kModuleWords));
  pack.header() = {.magic = pack::kPackMagic,
                   .version = pack::kPackVersion,
                   .size = pack.bytes().size(),
                   .content_digest = 0,
                   .variant_count = static_cast<uint32_t>(keys.size()),
                   .module_count = 1,
                   .variants_offset = static_cast<uint32_t>(variants),
                   .modules_offset = static_cast<uint32_t>(modules),
                   .strings_offset = static_cast<uint32_t>(strings),
                   .strings_size = static_cast<uint32_t>(names.size()),
                   .registry_offset = static_cast<uint32_t>(ops),
                   .registry_size = static_cast<uint32_t>(registry.size()),
                   .reserved = {}};
  for (size_t i = 0; i < keys.size(); ++i) {
    pack::VariantRow& row = pack.variant(i);
    row.key = keys[i];
    row.name = name_offsets[i];
    row.workgroup[0] = 64;
    row.workgroup[1] = row.workgroup[2] = 1;
    row.push_bytes = 8;
    row.binding_count = 2;
    row.bindings[1] = static_cast<uint8_t>(pack::BindingType::kStorageImage3D);
    row.constant_count = 1;
    row.vulkan_minor = 1;
  }
  pack.module(0) = {.offset = code,
                    .size = sizeof(kModuleWords),
                    .raw_size = sizeof(kModuleWords),
                    .codec = 0,
                    .reserved = 0,
                    .digest = XXH64(kModuleWords, sizeof(kModuleWords), 0)};
  std::memcpy(pack.bytes().data() + strings, names.data(), names.size());
  std::memcpy(pack.bytes().data() + ops, registry.data(), registry.size());
  std::memcpy(pack.bytes().data() + code, kModuleWords, sizeof(kModuleWords));
  Reseal(pack);
  return pack;
}

void Reseal(PackBytes& pack) {
  const auto content = pack.bytes().subspan(sizeof(pack::PackHeader));
  pack.header().content_digest = XXH64(content.data(), content.size(), 0);
}

}  // namespace spirloom::testing
