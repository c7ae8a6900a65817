#include "integrations/executorch/runner/flags.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "runtime/base/error.h"

namespace spirloom::runner {
namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    parts.emplace_back(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), parts.back().size() + 1));
  }
  return parts;
}

Status SetFlag(std::string_view name, std::string_view value, Flags& flags) {
  const auto invalid = [&](const char* expected) {
    return Error(StatusCode::kInvalidArgument, "--{} is {}; expected {}.", name, Quote(value),
                 expected);
  };
  if (name == "model_path") {
    flags.model_path = value;
  } else if (name == "data_path") {
    flags.data_path = value;
  } else if (name == "method_name") {
    flags.method_name = value;
  } else if (name == "inputs") {
    flags.inputs = SplitAtCommas(value);
  } else if (name == "output_file") {
    flags.output_file = value;
  } else if (name == "etdump_path") {
    flags.etdump_path = value;
  } else if (name == "num_executions") {
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), flags.num_executions);
    if (error != std::errc() || end != value.data() + value.size() || flags.num_executions == 0) {
      return invalid("a number above 0");
    }
  } else if (name == "print_all_output") {
    if (value != "true" && value != "false") return invalid("true or false");
    flags.print_all_output = value == "true";
  } else if (name == "backend_option") {
    const size_t sign = value.find('=');
    if (sign == std::string_view::npos || sign == 0) return invalid("NAME=VALUE");
    flags.backend_options.emplace_back(value.substr(0, sign), value.substr(sign + 1));
  } else {
    return Error(StatusCode::kInvalidArgument, "--{} is not a flag; --help lists the flags.", name);
  }
  return Status();
}

}  // namespace

Result<Flags> ParseFlags(std::span<char* const> args) {
  Flags flags;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (!arg.starts_with("-")) {
      return Error(StatusCode::kInvalidArgument,
                   "The argument {} is not a flag; --help lists the flags.", Quote(arg));
    }
    arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
    if (arg == "help" || arg == "h") {
      flags.help = true;
      continue;
    }
    const size_t sign = arg.find('=');
    const std::string_view name = arg.substr(0, sign);
    if (sign != std::string_view::npos) {
      SPIRLOOM_TRY(SetFlag(name, arg.substr(sign + 1), flags));
    } else if (name == "print_all_output") {
      flags.print_all_output = true;
    } else if (i + 1 == args.size()) {
      return Error(StatusCode::kInvalidArgument, "--{} has no value.", name);
    } else {
      SPIRLOOM_TRY(SetFlag(name, args[++i], flags));
    }
  }
  return flags;
}

const char* Usage() {
  return "usage: spirloom-executor-runner --model_path FILE.pte [flags]\n"
         "\n"
         "Runs a method of an ExecuTorch program with Spirloom's backends and prints its outputs.\n"
         "\n"
         "  --model_path FILE          the program (default: model.pte)\n"
         "  --data_path FILE           its external data (.ptd)\n"
         "  --method_name NAME         the method (default: forward)\n"
         "  --inputs FILE,FILE,...     one file per input tensor, with the bytes of its elements;\n"
         "                             default: ones\n"
         "  --num_executions N         number of runs (default: 1)\n"
         "  --output_file BASE         writes the bytes of output i to BASE-i.bin\n"
         "  --print_all_output         prints all elements, not only the first and last 100\n"
         "  --etdump_path FILE         writes an ETDump of load and runs, with device times\n"
         "  --backend_option NAME=VALUE  an option of the backends; may be repeated:\n"
         "                             device, autotune, libraries, memory_limit_mib\n";
}

}  // namespace spirloom::runner
