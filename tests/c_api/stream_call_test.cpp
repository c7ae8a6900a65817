// Calls of operators on streams in the C API, on the default device with validation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "tests/c_api/c_model_fixture.h"

namespace spirloom::c {
namespace {

using ::testing::HasSubstr;

using OwnedStream = Owned<spirloom_stream, spirloom_stream_destroy>;
using Tensor = spirloom_device_tensor;
using Arguments = std::vector<spirloom_argument>;

spirloom_argument TensorOf(const Tensor& tensor) {
  spirloom_argument argument{};
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  argument.count = 1;
  argument.tensors = &tensor;
  return argument;
}

spirloom_argument ListOf(const std::vector<Tensor>& tensors) {
  spirloom_argument argument{};
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR_LIST;
  argument.count = tensors.size();
  argument.tensors = tensors.data();
  return argument;
}

spirloom_argument FloatOf(double value) {
  spirloom_argument argument{};
  argument.kind = SPIRLOOM_ARGUMENT_FLOAT;
  argument.f = value;
  return argument;
}

spirloom_argument IntOf(int64_t value) {
  spirloom_argument argument{};
  argument.kind = SPIRLOOM_ARGUMENT_INT;
  argument.i = value;
  return argument;
}

// a + alpha * b
Arguments AddOf(const Tensor& a, const Tensor& b, double alpha = 1) {
  return {TensorOf(a), TensorOf(b), FloatOf(alpha), IntOf(0), FloatOf(0), FloatOf(0)};
}

class CStreamCallTest : public CModelTest {
 protected:
  void SetUp() override {
    CModelTest::SetUp();
    if (IsSkipped()) return;
    spirloom_stream* stream = nullptr;
    const spirloom_stream_options* options = nullptr;
    ASSERT_EQ(Call(spirloom_stream_create, runtime_.get(), options, &stream).message, "");
    stream_.reset(stream);
  }
  void TearDown() override {
    stream_.reset();
    CModelTest::TearDown();
  }

  // A tensor with the values 1, 2, 3, …
  Tensor MakeTensor(const std::vector<int64_t>& sizes) {
    Tensor tensor{};
    tensor.dtype = SPIRLOOM_F32;
    tensor.rank = sizes.size();
    size_t count = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      tensor.sizes[i] = sizes[i];
      count *= static_cast<size_t>(sizes[i]);
    }
    EXPECT_EQ(Call(spirloom_stream_allocate, stream_.get(), count * 4, &tensor.address).message,
              "");
    Floats values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    const void* source = values.data();
    EXPECT_EQ(Call(spirloom_stream_write, stream_.get(), tensor.address, source, count * 4).message,
              "");
    return tensor;
  }

  Floats Read(const Tensor& tensor) {
    size_t count = 1;
    for (size_t i = 0; i < tensor.rank; ++i) count *= static_cast<size_t>(tensor.sizes[i]);
    Floats values(count);
    void* target = values.data();
    const void* source = tensor.address;
    EXPECT_EQ(Call(spirloom_stream_read, stream_.get(), target, source, count * 4).message, "");
    return values;
  }

  Outcome CallOp(std::string_view name, const Arguments& arguments, Tensor* results,
                 size_t count = 1) {
    return Call(spirloom_stream_call, stream_.get(), FindOp(name), arguments.data(),
                arguments.size(), results, count);
  }

  uint64_t Count(uint64_t (spirloom_stream_stats::*values)[4]) {
    spirloom_stream_stats stats = SPIRLOOM_INIT(spirloom_stream_stats);
    EXPECT_EQ(Call(spirloom_stream_memory, stream_.get(), &stats).message, "");
    return (stats.*values)[SPIRLOOM_STREAM_CURRENT];
  }

  OwnedStream stream_;
};

TEST_F(CStreamCallTest, ComputesBroadcastSums) {
  const Tensor a = MakeTensor({2, 3});
  const Tensor b = MakeTensor({3});
  Tensor sum{};
  ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(a, b, 10), &sum).message, "");
  EXPECT_EQ(sum.dtype, SPIRLOOM_F32);
  EXPECT_EQ(sum.rank, 2u);
  EXPECT_EQ(sum.sizes[0], 2);
  EXPECT_EQ(sum.sizes[1], 3);
  EXPECT_EQ(Read(sum), (Floats{11, 22, 33, 14, 25, 36}));
}

TEST_F(CStreamCallTest, CallsDependOnEarlierCalls) {
  Tensor x = MakeTensor({1000});
  for (int i = 0; i < 100; ++i) {
    Tensor sum{};
    ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(x, x), &sum).message, "");
    ASSERT_EQ(Call(spirloom_stream_free, stream_.get(), x.address).message, "");
    x = sum;
    if (i % 10 == 9) {  // back to the first values, for which floats are exact
      Tensor scaled{};
      ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(x, x, 1.0 / 1024 - 1), &scaled).message, "");
      ASSERT_EQ(Call(spirloom_stream_free, stream_.get(), x.address).message, "");
      x = scaled;
    }
  }
  Floats expected(1000);
  std::iota(expected.begin(), expected.end(), 1.0F);
  EXPECT_EQ(Read(x), expected);
}

// Intermediate results, such as packed weights, are freed by the call.
TEST_F(CStreamCallTest, FreesItsScratchMemory) {
  const Tensor a = MakeTensor({4, 64});
  const Tensor b = MakeTensor({64, 64});
  Tensor product{};
  ASSERT_EQ(CallOp("aten.mm", {TensorOf(a), TensorOf(b)}, &product).message, "");
  const uint64_t blocks = Count(&spirloom_stream_stats::blocks);
  ASSERT_EQ(Call(spirloom_stream_free, stream_.get(), product.address).message, "");
  ASSERT_EQ(CallOp("aten.mm", {TensorOf(a), TensorOf(b)}, &product).message, "");
  EXPECT_EQ(Count(&spirloom_stream_stats::blocks), blocks);
  const Floats values = Read(product);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 64; ++column) {
      double expected = 0;
      for (size_t k = 0; k < 64; ++k) {
        expected +=
            static_cast<double>(row * 64 + k + 1) * static_cast<double>(k * 64 + column + 1);
      }
      EXPECT_NEAR(values[row * 64 + column], expected, 1e-6 * expected);
    }
  }
}

// The offset of a tensor in its block may be below the alignment of the device's descriptors.
TEST_F(CStreamCallTest, TakesTensorsAtAnyOffset) {
  const Tensor x = MakeTensor({200});
  for (const size_t offset : {0, 1, 3, 4, 7, 64, 100}) {
    Tensor part = x;
    part.address = static_cast<float*>(x.address) + offset;
    part.sizes[0] = 100;
    Tensor sum{};
    ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(part, part), &sum).message, "");
    const Floats values = Read(sum);
    for (size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(values[i], 2 * static_cast<float>(offset + i + 1)) << offset;
    }
  }
}

// Values that only push constants depend on share a plan, and others have plans of their own.
TEST_F(CStreamCallTest, TakesOtherNumbers) {
  const Tensor x = MakeTensor({4});
  for (const double alpha : {1.0, 2.0, -0.5, 0.0}) {
    Tensor sum{};
    ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(x, x, alpha), &sum).message, "");
    const auto factor = static_cast<float>(1 + alpha);
    EXPECT_EQ(Read(sum), (Floats{factor, 2 * factor, 3 * factor, 4 * factor}));
    Tensor power{};
    ASSERT_EQ(CallOp("aten.pow.Tensor_Scalar", {TensorOf(x), FloatOf(alpha + 1)}, &power).message,
              "");
    const Floats powers = Read(power);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(powers[i], std::pow(static_cast<float>(i + 1), factor), 1e-4);
    }
  }
}

// Integers are pushed in another form than floats.
TEST_F(CStreamCallTest, TakesOtherNumbersOfIntegers) {
  Tensor x = MakeTensor({4});
  x.dtype = SPIRLOOM_I32;
  const std::vector<int32_t> given = {1, 2, 3, 4};
  const void* source = given.data();
  ASSERT_EQ(Call(spirloom_stream_write, stream_.get(), x.address, source, size_t{16}).message, "");
  for (const int32_t alpha : {0, 3, -2, 3, 0}) {
    Tensor sum{};
    ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(x, x, alpha), &sum).message, "");
    std::vector<int32_t> values(4);
    void* target = values.data();
    const void* from = sum.address;
    ASSERT_EQ(Call(spirloom_stream_read, stream_.get(), target, from, size_t{16}).message, "");
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(values[i], given[i] * (1 + alpha)) << alpha;
  }
}

TEST_F(CStreamCallTest, TakesLists) {
  const std::vector<Tensor> parts = {MakeTensor({1, 2}), MakeTensor({2, 2}), MakeTensor({1, 2})};
  Tensor joined{};
  ASSERT_EQ(CallOp("aten.cat", {ListOf(parts), IntOf(0)}, &joined).message, "");
  EXPECT_EQ(Read(joined), (Floats{1, 2, 1, 2, 3, 4, 1, 2}));
}

TEST_F(CStreamCallTest, TakesEmptyTensors) {
  Tensor empty{};
  empty.dtype = SPIRLOOM_F32;
  empty.rank = 2;
  empty.sizes[1] = 3;
  const Tensor b = MakeTensor({3});
  Tensor sum{};
  ASSERT_EQ(CallOp("aten.add.Tensor", AddOf(empty, b), &sum).message, "");
  EXPECT_EQ(sum.sizes[0], 0);
  EXPECT_EQ(sum.sizes[1], 3);
}

TEST_F(CStreamCallTest, ReportsErrors) {
  const Tensor a = MakeTensor({2, 3});
  const Tensor b = MakeTensor({4});
  Tensor sum{};
  const Outcome shapes = CallOp("aten.add.Tensor", AddOf(a, b), &sum);
  EXPECT_EQ(shapes.status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(shapes.message, HasSubstr("\n - While calling aten.add.Tensor."));
  EXPECT_EQ(CallOp("aten.add.Tensor", AddOf(a, b), &sum).message, shapes.message);  // kept
  EXPECT_EQ(CallOp("aten.add.Tensor", {TensorOf(a)}, &sum).status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(CallOp("aten.add.Tensor", AddOf(a, a), &sum, 0).message,
            "Number of results is 0; the operator has 1.");
  Tensor wrong = a;
  wrong.address = &wrong;
  EXPECT_THAT(CallOp("aten.add.Tensor", AddOf(wrong, a), &sum).message,
              HasSubstr("`tensor` is not a device address"));
  wrong = a;
  wrong.rank = 9;
  EXPECT_EQ(CallOp("aten.add.Tensor", AddOf(wrong, a), &sum).message,
            "Rank (9) of a spirloom_device_tensor exceeds 8.");
  wrong.rank = 1;
  wrong.sizes[0] = -1;
  EXPECT_EQ(CallOp("aten.add.Tensor", AddOf(wrong, a), &sum).message,
            "Size 0 of a spirloom_device_tensor is -1; expected at least 0.");
  const Arguments arguments = AddOf(a, a);
  EXPECT_THAT(Call(spirloom_stream_call, stream_.get(), size_t{1} << 40, arguments.data(),
                   arguments.size(), &sum, size_t{1})
                  .message,
              HasSubstr("The index of the operator is 1099511627776; the runtime has"));
  // Errors leave no blocks behind.
  EXPECT_EQ(Count(&spirloom_stream_stats::blocks), 3u);  // a, b, and the one for absent tensors
}

}  // namespace
}  // namespace spirloom::c
