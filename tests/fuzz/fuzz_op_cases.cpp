// Opens arbitrary bytes as a case pack (.slcases) and reads every field that the test runner reads.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/memory_file.h"
#include "tests/ops/case_data.h"
#include "tests/ops/case_file.h"

namespace {

using spirloom::fuzz::Require;
using spirloom::fuzz::Touch;
using namespace spirloom::testing;  // NOLINT: all functions are of this namespace
namespace schema = spirloom::schema;

void ReadTensors(const flatbuffers::Vector<flatbuffers::Offset<schema::CaseTensor>>& tensors) {
  for (const schema::CaseTensor* tensor : tensors) {
    Touch(DataOf(*tensor));
    const spirloom::Shape shape = ShapeOf(*tensor);
    Touch(std::as_bytes(std::span(shape)));
    Touch(std::as_bytes(std::span(tensor->name()->string_view())));
  }
}

void ReadCase(const schema::Case& test) {
  Touch(GraphOf(test));
  Touch(std::as_bytes(std::span(test.id()->string_view())));
  Touch(std::as_bytes(std::span(test.op()->string_view())));
  OptionsOf(test);
  ReadTensors(*test.inputs());
  ReadTensors(*test.expected());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static spirloom::fuzz::MemoryFile file;
  file.Write(spirloom::fuzz::BytesOf(data, size));
  const auto cases = CaseFile::Open(file.path());
  static spirloom::fuzz::Tally read("case packs read");
  read.Count(cases.ok());
  if (!cases.ok()) {
    Require(!cases.status().message().empty(), "an error has a message");
    return 0;
  }
  for (const schema::Case* test : cases->cases()) ReadCase(*test);
  return 0;
}
