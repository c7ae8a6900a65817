#include "compiler/checks/check.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "compiler/base/capabilities.h"
#include "runtime/pack/capability.h"

namespace spirloom::compiler {
namespace {

constexpr uint64_t kSharedMemory = pack::CapabilityBit(pack::Capability::kSharedMemory32k) |
                                   pack::CapabilityBit(pack::Capability::kSharedMemory48k);

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

// e.g. "int", "int[4]".
std::string TypeText(const std::string& scalar, uint32_t count) {
  return count == 1 ? scalar : scalar + "[" + std::to_string(count) + "]";
}

template <typename T>
std::string SizeText(const std::array<T, 3>& size) {
  return "[" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " +
         std::to_string(size[2]) + "]";
}

// The needs that the module's capabilities and shared memory require.
uint64_t RequiredNeeds(const Reflection& module) {
  uint64_t used = NeedOfSharedBytes(module.shared_bytes);
  for (const uint32_t capability : module.capabilities)
    used |= NeedOfSpirvCapability(capability).needs;
  return used;
}

class Checker {
 public:
  Checker(const Variant& variant, const Reflection& declared, const Reflection& optimized)
      : variant_(variant), declared_(declared), optimized_(optimized) {}

  std::vector<Diagnostic> Run() && {
    for (size_t i = 0; i < variant_.bindings.size(); ++i) CheckBinding(i);
    CheckExtraBindings();
    CheckPush();
    CheckConstants();
    CheckWorkgroup();
    CheckShared();
    CheckNeeds();
    return std::move(diagnostics_);
  }

 private:
  void Fail(const std::string& where, std::string message) {
    diagnostics_.push_back({where.empty() ? variant_.at : where, std::move(message), variant_.id});
  }

  void CheckBinding(size_t index);
  void CheckAccess(const Binding& binding, size_t index, bool read, bool written, bool used);
  void CheckExtraBindings();
  void CheckPush();
  void CheckPushMember(const PushMember& member, const ReflectedMember& found);
  void CheckConstants();
  void CheckWorkgroup();
  void CheckShared();
  void CheckNeeds();

  const Variant& variant_;
  const Reflection& declared_;
  const Reflection& optimized_;
  std::vector<Diagnostic> diagnostics_;
};

void Checker::CheckBinding(size_t index) {
  const Binding& binding = variant_.bindings[index];
  const std::string subject =
      "Tensor " + Quoted(binding.name) + " (binding " + std::to_string(index) + ") ";
  const auto is_same = [index](const ReflectedBinding& b) {
    return b.set == 0 && b.binding == index;
  };
  bool declared = false;
  for (const ReflectedBinding& found : declared_.bindings) {
    if (!is_same(found)) continue;
    declared = true;
    if (found.type != BindingTypeName(binding.type)) {
      return Fail(binding.at, subject + "is a " + BindingTypeName(binding.type) +
                                  " in the spec and a " + found.type + " (" + Quoted(found.name) +
                                  ") in the shader.");
    }
  }
  if (!declared) {
    return Fail(binding.at, subject +
                                "is in the spec, but the shader declares no such binding. "
                                "Declare it, or set its storage to none under `tensors`.");
  }
  bool read = false, written = false, used = false;
  // Several variables may name one binding (a scalar and a vector view of it).
  for (const ReflectedBinding& found : optimized_.bindings) {
    if (!is_same(found)) continue;
    read = read || found.read;
    written = written || found.written;
    used = used || found.used;
  }
  CheckAccess(binding, index, read, written, used);
}

void Checker::CheckAccess(const Binding& binding, size_t index, bool read, bool written,
                          bool used) {
  const std::string subject =
      "Tensor " + Quoted(binding.name) + " (binding " + std::to_string(index) + ") ";
  if (!used) {
    return Fail(binding.at, subject +
                                "is in the spec, but the shader never uses it. Use it, or "
                                "set its storage to none under `tensors`.");
  }
  const std::string remedy = " Set its access under `tensors`, or change the shader.";
  if (written && binding.access == BindingAccess::kRead)
    return Fail(binding.at, subject + "is 'read' in the spec, but the shader writes it." + remedy);
  if (read && binding.access == BindingAccess::kWrite)
    return Fail(binding.at, subject + "is 'write' in the spec, but the shader reads it." + remedy);
  if (!written && binding.access != BindingAccess::kRead) {
    Fail(binding.at, subject + "is '" + BindingAccessName(binding.access) +
                         "' in the spec, but the shader never writes it." + remedy);
  }
}

void Checker::CheckExtraBindings() {
  for (const ReflectedBinding& found : optimized_.bindings) {
    if (found.set == 0 && found.binding < variant_.bindings.size()) continue;
    // The optimized module has no debug names.
    const auto named = std::find_if(declared_.bindings.begin(), declared_.bindings.end(),
                                    [&found](const ReflectedBinding& b) {
                                      return b.set == found.set && b.binding == found.binding;
                                    });
    const std::string name = named == declared_.bindings.end() ? found.name : named->name;
    Fail(variant_.at, "The shader uses set " + std::to_string(found.set) + ", binding " +
                          std::to_string(found.binding) + " (" + Quoted(name) + "); the spec has " +
                          std::to_string(variant_.bindings.size()) +
                          " tensors, in set 0. Add the tensor to the spec.");
  }
}

void Checker::CheckPush() {
  if (variant_.push.empty() && !declared_.has_push) return;
  if (!declared_.has_push) {
    return Fail(variant_.push[0].at,
                "The spec has " + std::to_string(variant_.push.size()) +
                    " push constants, but the shader declares no push-constant block.");
  }
  for (size_t i = 0; i < std::max(variant_.push.size(), declared_.push.size()); ++i) {
    const std::string subject = "Push constant " + std::to_string(i) + " is ";
    if (i >= declared_.push.size()) {
      const PushMember& member = variant_.push[i];
      Fail(member.at, subject + Quoted(member.name) + " in the spec, but the shader's block has " +
                          std::to_string(declared_.push.size()) + " members.");
    } else if (i >= variant_.push.size()) {
      Fail(variant_.at, subject + Quoted(declared_.push[i].name) +
                            " in the shader, but the spec has " +
                            std::to_string(variant_.push.size()) + " push constants.");
    } else {
      CheckPushMember(variant_.push[i], declared_.push[i]);
    }
  }
}

void Checker::CheckPushMember(const PushMember& member, const ReflectedMember& found) {
  const std::string type = ScalarTypeName(member.type);
  if (member.name != found.name) {
    return Fail(member.at, "Push constant " + Quoted(member.name) + " of the spec is " +
                               Quoted(found.name) + " in the shader, at the same index.");
  }
  const std::string subject = "Push constant " + Quoted(member.name) + " ";
  if (type != found.type || member.count != found.count) {
    Fail(member.at, subject + "is " + TypeText(type, member.count) + " in the spec and " +
                        TypeText(found.type, found.count) + " in the shader.");
  }
  if (member.offset != found.offset) {
    Fail(member.at, subject + "is at byte " + std::to_string(member.offset) +
                        " in the spec and at byte " + std::to_string(found.offset) +
                        " in the shader.");
  }
  if (found.stride != 4) {
    Fail(member.at, subject + "has an array stride of " + std::to_string(found.stride) +
                        " bytes in the shader; it must be 4.");
  }
}

void Checker::CheckConstants() {
  for (const ReflectedConstant& found : declared_.constants) {
    const auto expected = std::find_if(variant_.constants.begin(), variant_.constants.end(),
                                       [&found](const Constant& c) { return c.id == found.id; });
    const std::string id = "Specialization constant " + std::to_string(found.id) + " ";
    if (expected == variant_.constants.end()) {
      Fail(variant_.at,
           id + "is " + Quoted(found.name) + " in the shader, but the spec has none with this id.");
    } else if (expected->name != found.name) {
      Fail(expected->at, id + "is " + Quoted(expected->name) + " in the spec and " +
                             Quoted(found.name) + " in the shader.");
    } else if (expected->type != ScalarType::kBool ? found.type != ScalarTypeName(expected->type)
                                                   : found.type != "bool") {
      Fail(expected->at, id + "(" + Quoted(expected->name) + ") is " +
                             ScalarTypeName(expected->type) + " in the spec and " + found.type +
                             " in the shader.");
    }
  }
  for (const Constant& constant : variant_.constants) {
    const bool declared = std::any_of(
        declared_.constants.begin(), declared_.constants.end(),
        [&constant](const ReflectedConstant& found) { return found.id == constant.id; });
    if (!declared) {
      Fail(constant.at, "Specialization constant " + std::to_string(constant.id) + " (" +
                            Quoted(constant.name) +
                            ") is in the spec, but the shader declares none with this id.");
    }
  }
}

void Checker::CheckWorkgroup() {
  for (uint32_t i = 0; i < 3; ++i) {
    if (optimized_.workgroup_ids[i] == i) continue;
    return Fail(variant_.at,
                "The shader's workgroup size " + SizeText(optimized_.workgroup) +
                    " cannot be specialized: its dimensions must be constants 0, 1 and 2 "
                    "(layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in).");
  }
  const std::array<uint32_t, 3> expected = {variant_.workgroup[0], variant_.workgroup[1],
                                            variant_.workgroup[2]};
  if (optimized_.workgroup != expected) {
    Fail(variant_.at, "The workgroup size is " + SizeText(expected) + " in the spec and " +
                          SizeText(optimized_.workgroup) + " in the shader.");
  }
}

void Checker::CheckShared() {
  const uint64_t bytes = optimized_.shared_bytes;
  const uint64_t limit = SharedBytesOf(variant_.needs);
  if (bytes <= limit) return;
  std::string message = "The shared variables (" + std::to_string(bytes) + " bytes) exceed the " +
                        std::to_string(limit) + " bytes that ";
  message += limit > pack::kMinSharedBytes ? "`needs` guarantees" : "Vulkan guarantees";
  message += ". Reduce the tile size";
  if (bytes <= pack::kSharedBytes48k)
    message += " or add to `needs`: " + NeedNames(NeedOfSharedBytes(bytes));
  Fail(variant_.at, std::move(message) + ".");
}

void Checker::CheckNeeds() {
  const uint64_t needed = RequiredNeeds(optimized_);
  for (const uint32_t capability : optimized_.capabilities) {
    if (NeedOfSpirvCapability(capability).known) continue;
    Fail(variant_.at, "The shader requires the SPIR-V capability " +
                          SpirvCapabilityName(capability) +
                          ", which `needs` does not support. Remove the code that requires it.");
  }
  // CheckShared() reports missing shared memory.
  const uint64_t allowed = WithImpliedNeeds(variant_.needs | variant_.may_need);
  const uint64_t missing = needed & ~allowed & ~kSharedMemory;
  const uint64_t unused = variant_.needs & ~WithImpliedNeeds(needed);
  if ((missing | unused) == 0) return;
  std::string message = "The spec needs " + NeedNames(NeedsOf(variant_, optimized_)) +
                        "; the shader needs " + NeedNames(needed) + ".";
  if (missing != 0) message += " Add to `needs`: " + NeedNames(missing) + ".";
  if (unused != 0) message += " Remove from `needs`: " + NeedNames(unused) + ".";
  Fail(variant_.at, std::move(message));
}

}  // namespace

uint64_t NeedsOf(const Variant& variant, const Reflection& optimized) {
  return variant.needs | (variant.may_need & RequiredNeeds(optimized));
}

std::vector<Diagnostic> CheckVariant(const Variant& variant, const Reflection& declared,
                                     const Reflection& optimized) {
  return Checker(variant, declared, optimized).Run();
}

}  // namespace spirloom::compiler
