// A small library of ops whose shaders do nothing of use, for tests of planning (op_specs/).
//
//   test.add(a, b)        any storage; f32 only
//   test.sum(x)           buffer only
//   test.cast(x)          any storage to any storage
//   test.view(x, shape)   a view; its kernel is buffer only
//   test.far(x)           a view that begins beyond the end of x
//   test.linear(x, w)     w is packed by test.pack, in a buffer
//   test.pack(w)          buffer only
//   test.int8(x)          needs Vulkan 1.2 and 8-bit storage
//   spirloom.copy         any storage to any other; f32 only
#ifndef SPIRLOOM_TESTS_UNIT_FAKE_LIBRARY_FAKE_LIBRARY_H_
#define SPIRLOOM_TESTS_UNIT_FAKE_LIBRARY_FAKE_LIBRARY_H_

#include "runtime/ops/op_index.h"

namespace spirloom::testing {

// An index of the ops above; lives as long as the process.
const ops::OpIndex& FakeIndex();

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_UNIT_FAKE_LIBRARY_FAKE_LIBRARY_H_
