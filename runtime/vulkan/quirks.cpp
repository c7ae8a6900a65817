#include "runtime/vulkan/quirks.h"

#include <array>

namespace spirloom::vulkan {
namespace {

struct Row {
  DriverIdentity of;  // 0 and "any" match all; `version` is the first one
  uint32_t last;
  int64_t Quirks::*field;
  int64_t value;
};

// Rows that only inform users (field `noted`) are not needed at run time.
constexpr int64_t Quirks::*noted = nullptr;
constexpr int64_t Quirks::*max_loop_iterations = &Quirks::max_loop_iterations;
constexpr int64_t Quirks::*reads_texels = &Quirks::reads_texels;
constexpr int64_t Quirks::*divides_dispatches = &Quirks::divides_dispatches;
constexpr int64_t Quirks::*quad_matrices = &Quirks::quad_matrices;
constexpr int64_t Quirks::*registers = &Quirks::registers;

constexpr auto kRows = std::to_array<Row>({
#define SPIRLOOM_DRIVER_QUIRK(name, vendor, driver, type, first, last, field, value, ...) \
  {{vendor, driver, #type, first}, last, field, value},
#include "spec_model/driver_quirks.inc"
#undef SPIRLOOM_DRIVER_QUIRK
});

bool Matches(const Row& row, const DriverIdentity& identity) {
  return (row.of.vendor == 0 || row.of.vendor == identity.vendor) &&
         (row.of.driver == 0 || row.of.driver == identity.driver) &&
         (row.of.type == "any" || row.of.type == identity.type) &&
         row.of.version <= identity.version && identity.version <= row.last;
}

}  // namespace

Quirks QuirksOf(const DriverIdentity& identity) {
  Quirks quirks;
  for (const Row& row : kRows) {
    if (row.field != nullptr && Matches(row, identity)) quirks.*row.field = row.value;
  }
  return quirks;
}

}  // namespace spirloom::vulkan
