#include "llm/spirloom-llm/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <utility>

namespace spirloom::llm {
namespace {

constexpr const char* kFooter = R"(
Examples:
  spirloom-llm llama.slg --prompt "The capital of France is" --tokens 20
  spirloom-llm llama.slg --chat --prompt "What is Vulkan?" --system "Be brief." --stats
  spirloom-llm llama.slg --chat                                  a conversation: a line, a reply
  spirloom-llm llama.slg --prompt "Once" --temperature 0.8 --top-p 0.95 --seed 7
  spirloom-llm llama.slg --prompt "Once" --json

Text goes to standard output as it comes, statistics to standard error.
Exit codes: 0 done, 1 the run failed or the context is full, 2 a wrong argument or file.)";

void AddSampling(CLI::App& app, Sampling& sampling) {
  app.add_option("--temperature", sampling.temperature,
                 "Choose tokens at random, the more so the higher; 0, the default, takes the "
                 "greatest score")
      ->option_text("T")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-k", sampling.top_k, "Of the K greatest scores (default: of all)")
      ->option_text("K")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--top-p", sampling.top_p,
                 "Of the fewest tokens that have the probability P together (default 1)")
      ->option_text("P")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", sampling.seed, "Equal seeds choose equal tokens (default 0)")
      ->option_text("S")
      ->check(CLI::Range(0, std::numeric_limits<int32_t>::max()));
}

// Why the options cannot go together, or nothing.
std::string Conflict(const Options& options, bool sampled) {
  if (!options.prompt && !options.chat && !options.tokenize) {
    return "--prompt TEXT says what to go on from, or --chat begins a conversation";
  }
  if (!options.system.empty() && !options.chat) return "--system goes with --chat";
  if (options.json && !options.prompt && !options.tokenize) return "--json goes with --prompt";
  if (sampled && options.sampling.temperature <= 0) {
    return "--top-k, --top-p and --seed go with --temperature";
  }
  return "";
}

}  // namespace

ParseResult ParseCommandLine(int argc, const char* const* argv) {
  Options options;
  std::string prompt;
  CLI::App app("Runs a language model of a Spirloom graph file on a Vulkan device.");
  app.footer(kFooter);
  app.add_option("model", options.model, "The graph file (.slg)")->option_text("FILE")->required();
  const CLI::Option* has_prompt =
      app.add_option("--prompt", prompt, "The text to go on from; with --chat the user's message")
          ->option_text("TEXT");
  app.add_flag("--chat", options.chat,
               "Write messages as the model's chat template does; without --prompt read them from "
               "standard input, a line each");
  app.add_option("--system", options.system, "The system message of a chat")->option_text("TEXT");
  app.add_option("--tokens", options.tokens, "The most tokens of a reply (default 256)")
      ->option_text("N")
      ->check(CLI::Range(1, 1 << 30));
  AddSampling(app, options.sampling);
  app.add_flag("--json", options.json,
               "Print the reply, its tokens and the statistics as JSON, when it is complete");
  app.add_flag("--stats", options.stats, "Print rates, times and memory at the end");
  app.add_flag("--tokenize", options.tokenize,
               "Print the tokens of the prompt and their text as JSON, or those of each line of "
               "standard input, which is a JSON string, and exit; needs no device, and FILE may be "
               "a tokenizer.json");
  app.add_option("--device", options.device,
                 "A device's index, id or part of its name, as for spirloom-run")
      ->option_text("DEVICE");
  app.add_option("--library", options.libraries,
                 "A shader library (.slpack) to use beside what is built in; repeat for more")
      ->type_name("FILE");
  app.add_flag("!--no-builtin", options.builtin, "Use the given libraries alone");
  app.add_option("--cache-dir", options.cache_dir, "Folder of the pipeline cache; 'none' for none")
      ->option_text("DIR");
  try {
    app.parse(argc, argv);
    if (*has_prompt) options.prompt = prompt;
    const bool sampled = app.count("--top-k") + app.count("--top-p") + app.count("--seed") > 0;
    const std::string conflict = Conflict(options, sampled);
    if (!conflict.empty()) throw CLI::ValidationError(conflict);
  } catch (const CLI::ParseError& error) {
    const bool help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return {std::nullopt, help ? kSuccess : kUsage};
  }
  return {std::move(options), kSuccess};
}

}  // namespace spirloom::llm
