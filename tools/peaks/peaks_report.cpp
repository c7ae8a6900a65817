#include "tools/peaks/peaks_report.h"

#include <nlohmann/json.hpp>

#include "tools/common/table.h"

namespace spirloom::peaks {

using tools::Decimal;

std::string PeaksTable(const DeviceInfo& device, const DevicePeaks& found) {
  const std::string size = "tensors of " + tools::Bytes(found.tensor_bytes);
  tools::Table table("<><<", {"peak", "", "", "conditions"});
  const auto add = [&](const char* name, double value, const char* unit, const std::string& note) {
    table.AddRow({name, Decimal(value, 1), unit, note});
  };
  add("memory written", found.write * 1e-9, "GB/s", size);
  add("memory read", found.read * 1e-9, "GB/s", size);
  add("memory copied", found.copy * 1e-9, "GB/s", size + ", read and written");
  add("cached reads", found.cached_read * 1e-9, "GB/s", "16 bytes per invocation");
  add("shared memory read", found.shared_read * 1e-9, "GB/s", "16 bytes per invocation");
  add("f32 arithmetic", found.multiply_add * 1e-9, "GFLOP/s",
      "multiply-adds in registers, two operations each");
  add("dispatch", found.dispatch_ns * 1e-3, "us",
      "latency of one that depends on the previous one");
  return device.name + ", " + device.driver + "\n" + table.ToString();
}

std::string PeaksJson(const DeviceInfo& device, const DevicePeaks& found) {
  const nlohmann::ordered_json json{{"device", device.name},
                                    {"driver", device.driver},
                                    {"tensor_bytes", found.tensor_bytes},
                                    {"write", found.write},
                                    {"read", found.read},
                                    {"copy", found.copy},
                                    {"cached_read", found.cached_read},
                                    {"shared_read", found.shared_read},
                                    {"multiply_add", found.multiply_add},
                                    {"dispatch_ns", found.dispatch_ns}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace spirloom::peaks
