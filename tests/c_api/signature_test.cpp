#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spirloom/spirloom.h"
#include "tests/c_api/c_model_fixture.h"

namespace spirloom::c {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CSignatureTest : public CModelTest {
 protected:
  spirloom_signature SignatureOf(size_t op) {
    spirloom_signature signature = SPIRLOOM_INIT(spirloom_signature);
    EXPECT_EQ(Call(spirloom_runtime_signature, runtime_.get(), op, &signature).message, "");
    return signature;
  }

  spirloom_signature_argument ArgumentOf(size_t op, size_t i) {
    spirloom_signature_argument argument = SPIRLOOM_INIT(spirloom_signature_argument);
    EXPECT_EQ(Call(spirloom_runtime_signature_argument, runtime_.get(), op, i, &argument).message,
              "");
    return argument;
  }
};

TEST_F(CSignatureTest, HasNamesAndCounts) {
  const spirloom_signature signature = SignatureOf(FindOp("aten.add.Tensor"));
  EXPECT_STREQ(signature.name, "aten.add.Tensor");
  EXPECT_STREQ(signature.short_name, "add");
  EXPECT_EQ(signature.result_count, 1u);
  EXPECT_GE(signature.argument_count, 3u);
}

TEST_F(CSignatureTest, HasArgumentsWithDefaults) {
  const size_t add = FindOp("aten.add.Tensor");
  const spirloom_signature_argument a = ArgumentOf(add, 0);
  EXPECT_STREQ(a.name, "a");
  EXPECT_EQ(a.kind, SPIRLOOM_ARGUMENT_TENSOR);
  EXPECT_FALSE(a.is_optional);
  EXPECT_EQ(a.default_of, -1);
  EXPECT_EQ(a.default_value.kind, SPIRLOOM_ARGUMENT_NONE);
  const spirloom_signature_argument alpha = ArgumentOf(add, 2);
  EXPECT_STREQ(alpha.name, "alpha");
  EXPECT_EQ(alpha.kind, SPIRLOOM_ARGUMENT_FLOAT);
  EXPECT_EQ(alpha.default_value.kind, SPIRLOOM_ARGUMENT_FLOAT);
  EXPECT_EQ(alpha.default_value.f, 1.0);
}

TEST_F(CSignatureTest, HasDefaultsOfLists) {
  const size_t pool = FindOp("aten.max_pool2d");
  const spirloom_signature_argument stride = ArgumentOf(pool, 2);
  EXPECT_STREQ(stride.name, "stride");
  EXPECT_EQ(stride.default_of, 1);  // kernel_size
  const spirloom_signature_argument dilation = ArgumentOf(pool, 4);
  ASSERT_EQ(dilation.default_value.kind, SPIRLOOM_ARGUMENT_INTS);
  EXPECT_THAT(std::vector<int64_t>(dilation.default_value.ints,
                                   dilation.default_value.ints + dilation.default_value.count),
              ElementsAre(1, 1));
}

TEST_F(CSignatureTest, RefusesIndicesOutOfRange) {
  const size_t count = spirloom_runtime_operator_count(runtime_.get());
  spirloom_signature signature = SPIRLOOM_INIT(spirloom_signature);
  const Outcome op = Call(spirloom_runtime_signature, runtime_.get(), count, &signature);
  EXPECT_EQ(op.status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(op.message, HasSubstr("the runtime has " + std::to_string(count)));
  const size_t add = FindOp("aten.add.Tensor");
  const size_t arguments = SignatureOf(add).argument_count;
  spirloom_signature_argument argument = SPIRLOOM_INIT(spirloom_signature_argument);
  const Outcome outcome =
      Call(spirloom_runtime_signature_argument, runtime_.get(), add, arguments, &argument);
  EXPECT_EQ(outcome.status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("'aten.add.Tensor' has " + std::to_string(arguments)));
}

}  // namespace
}  // namespace spirloom::c
