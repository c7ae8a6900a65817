#include "llm/spirloom-llm/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "tools/common/help_formatter.h"

namespace spirloom::llm {
namespace {

constexpr const char* kFooter = R"(
Examples:
  spirloom-llm llama.slg --prompt "The capital of France is" --tokens 20
  spirloom-llm llama.slg --chat --prompt "What is Vulkan?" --system "Be brief." --stats
  spirloom-llm llama.slg --chat                                  interactive: one line, one reply
  spirloom-llm llama.slg --prompt "Once" --temperature 0.8 --top-p 0.95 --seed 7
  spirloom-llm llama.slg --prompt "Once" --json

Text is streamed to standard output, statistics are printed to standard error.
Exit codes: 0 success, 1 failed run or full context, 2 invalid argument or file.)";

void AddSampling(CLI::App& app, Sampling& sampling) {
  app.add_option("--temperature", sampling.temperature,
                 "Sampling temperature; 0 = greedy decoding (default)")
      ->option_text("T")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-k", sampling.top_k,
                 "Sample from the K most likely tokens; 0 = all (default)")
      ->option_text("K")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--top-p", sampling.top_p,
                 "Nucleus sampling: sample from the smallest set of tokens with cumulative "
                 "probability P (default 1)")
      ->option_text("P")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", sampling.seed, "Random seed for sampling (default 0)")
      ->option_text("S")
      ->check(CLI::Range(0, std::numeric_limits<int32_t>::max()));
}

// Returns an error message if the options exclude each other, else an empty string.
std::string Conflict(const Options& options, bool has_sampling_option) {
  if (!options.prompt && !options.chat && !options.tokenize) {
    return "Expected --prompt TEXT for a completion or --chat for a conversation";
  }
  if (!options.system.empty() && !options.chat) return "--system requires --chat";
  if (options.json && !options.prompt && !options.tokenize) return "--json requires --prompt";
  if (has_sampling_option && options.sampling.temperature <= 0) {
    return "--top-k, --top-p and --seed require --temperature above 0";
  }
  return "";
}

}  // namespace

ParseResult ParseCommandLine(int argc, const char* const* argv) {
  Options options;
  std::string prompt;
  CLI::App app("Run a language model from a Spirloom graph file on a Vulkan device.");
  app.allow_windows_style_options(false);  // the same on every platform: /file is a path
  app.footer(kFooter);
  app.formatter(std::make_shared<tools::HelpFormatter>());
  app.add_option("model", options.model, "Graph file (.slg)")->option_text("FILE")->required();
  const CLI::Option* has_prompt =
      app.add_option("-p,--prompt", prompt, "Text to complete; with --chat the user message")
          ->option_text("TEXT");
  app.add_flag("--chat", options.chat,
               "Format messages with the model's chat template; without --prompt, read one "
               "message per line from standard input");
  app.add_option("--system", options.system, "System message (with --chat)")->option_text("TEXT");
  app.add_option("--tokens", options.max_tokens,
                 "Maximum number of tokens to generate (default 256)")
      ->option_text("N")
      ->check(CLI::Range(1, 1 << 30));
  AddSampling(app, options.sampling);
  app.add_flag("--json", options.json,
               "Print the complete reply, its tokens and statistics as JSON");
  app.add_flag("--stats", options.stats, "Print throughput, latency and memory to standard error");
  app.add_flag("--tokenize", options.tokenize,
               "Print the token ids and decoded text of the prompt as JSON, or of each line of "
               "standard input (JSON strings), and exit; requires no device; FILE may also be a "
               "tokenizer.json");
  app.add_option("--device", options.device,
                 "Index, id or part of the name of the device, as for spirloom-run")
      ->option_text("DEVICE");
  app.add_option("--library", options.libraries, "Additional shader library (.slpack); repeatable")
      ->type_name("FILE");
  app.add_flag("!--no-builtin", options.builtin, "Do not use the built-in shader library");
  app.add_option("--cache-dir", options.cache_dir,
                 "Directory of the pipeline cache; 'none' disables it")
      ->option_text("DIR");
  try {
    app.parse(argc, argv);
    if (*has_prompt) options.prompt = prompt;
    const bool has_sampling_option =
        app.count("--top-k") + app.count("--top-p") + app.count("--seed") > 0;
    const std::string conflict = Conflict(options, has_sampling_option);
    if (!conflict.empty()) throw CLI::ValidationError(conflict);
  } catch (const CLI::ParseError& error) {
    const bool help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return {std::nullopt, help ? kSuccess : kUsage};
  }
  return {std::move(options), kSuccess};
}

}  // namespace spirloom::llm
