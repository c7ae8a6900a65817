// A small library of ops with placeholder shaders, for tests of planning (op_specs/).
//
//   test.add(a, b)            any storage; f32 only
//   test.sum(x)               buffer only; two kernels
//   test.scale(x, factor, mode)  a push constant and a specialization constant; buffer only
//   test.cast(x)              any storage to any storage
//   test.view(x, shape)       a view; its kernel is buffer only
//   test.slice(x, …)          a view if the step is 1
//   test.reshape(x, shape)    a view; any storage
//   test.exceeding_view(x, offset)  a view that exceeds x
//   test.concat(tensors)      any storage
//   test.overflowing_concat(tensors)  offsets beyond the end of the result
//   test.update(x, part)      updates x in place; buffer only
//   test.linear(x, w)         w is packed by test.pack, in a buffer
//   test.pack(w)              buffer only
//   test.normalize(x)         an intermediate is computed by test.pack
//   test.group(x, limit)      an intermediate is computed by test.pack_by(x, min(numel(x), limit))
//   test.pack_by(x, count)    buffer only
//   test.optional(x, bias)    bias is optional; buffer only
//   test.int8(x)              requires Vulkan 1.2 and 8-bit storage; buffer only
//   spirloom.copy             any storage to any storage; f32 only
#ifndef SPIRLOOM_TESTS_SUPPORT_FAKE_LIBRARY_FAKE_LIBRARY_H_
#define SPIRLOOM_TESTS_SUPPORT_FAKE_LIBRARY_FAKE_LIBRARY_H_

#include "runtime/ops/op_index.h"

namespace spirloom::testing {

// An index of the ops above, with static storage duration.
const ops::OpIndex& FakeIndex();

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_SUPPORT_FAKE_LIBRARY_FAKE_LIBRARY_H_
