#include "runtime/ops/registry_reader.h"

#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/ops/op_reader.h"

namespace spirloom::ops {

Result<Registry> ReadRegistry(std::span<const std::byte> bytes) {
  pack::ByteReader in(bytes);
  Registry registry;
  registry.library = in.Text().data();
  registry.overrides = in.Below(2) != 0;
  const uint64_t count = in.Varint();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    SPIRLOOM_TRY_ASSIGN(OpInfo op, OpReader(in).Read());
    if (!registry.ops.empty() && std::string_view(registry.ops.back().name) >= op.name) {
      return InvalidFile("The ops are not sorted by name: '{}' follows '{}'.", op.name,
                         registry.ops.back().name);
    }
    registry.ops.push_back(std::move(op));
  }
  if (!in.ok()) return InvalidFile("The operator registry is truncated.");
  if (in.remaining() > 0) {
    return InvalidFile("{} unexpected bytes follow the operator registry.", in.remaining());
  }
  return registry;
}

}  // namespace spirloom::ops
