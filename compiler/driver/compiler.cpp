#include "compiler/driver/compiler.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "compiler/base/diagnostics.h"
#include "compiler/base/file_io.h"
#include "compiler/driver/compile_variant.h"
#include "compiler/driver/progress.h"
#include "compiler/driver/time_trace.h"
#include "compiler/manifest/manifest.h"
#include "compiler/pack/cache.h"
#include "compiler/pack/image_twin.h"
#include "compiler/pack/pack_writer.h"
#include "runtime/base/parallel_for.h"

namespace spirloom::compiler {
namespace {

namespace fs = std::filesystem;

// The result of one variant.
struct Outcome {
  Status status;  // failure to read the GLSL file
  CompiledVariant compiled;
  CacheKey key;
  bool from_cache = false;
  Status cache_status;  // failure to write the cache
};

// Compiles a manifest once.
class Run {
 public:
  explicit Run(const CompileOptions& options)
      : options_(options),
        cache_(options.cache_dir),
        tool_version_(ToolVersion() + (options.debug_root.empty() ? "" : "; debug info")) {
    threads_ = options.jobs != 0 ? options.jobs : std::thread::hardware_concurrency();
    threads_ = std::max<size_t>(threads_, 1);
    if (!options.time_trace.empty()) trace_.emplace(threads_);
  }

  Result<CompileReport> Execute() {
    SPIRLOOM_TRY(LoadManifest());
    CompileAll();
    TrimCache();
    SPIRLOOM_TRY(WriteTrace());
    SPIRLOOM_TRY(FirstError());
    SPIRLOOM_TRY(WriteProducts());
    return std::move(report_);
  }

 private:
  Status LoadManifest();
  void CompileAll();
  void CompileOne(size_t i, size_t thread);
  CompiledVariant Compile(const Variant& variant, std::string_view glsl, size_t thread);
  void TrimCache();
  Status FirstError() const;
  Status WriteTrace();
  Status WriteProducts();
  Status WriteDepfile() const;
  fs::path SourceOf(const Variant& variant) const {
    return options_.manifest.parent_path() / variant.source;
  }

  const CompileOptions& options_;
  const Cache cache_;
  const std::string tool_version_;
  size_t threads_ = 1;
  std::optional<TimeTrace> trace_;
  Manifest manifest_;
  std::vector<Outcome> outcomes_;      // by variant: the order does not depend on threads
  std::map<CacheKey, size_t> by_key_;  // outcomes whose modules may be used for twins
  CompileReport report_;
};

Status Run::LoadManifest() {
  Result<std::string> text = ReadFile(options_.manifest);
  if (!text.ok()) return std::move(text).status();
  Result<Manifest> manifest = ParseManifest(*text);
  if (!manifest.ok())
    return std::move(manifest).status().While("reading " + options_.manifest.string());
  manifest_ = std::move(manifest).value();
  return Status();
}

void Run::CompileAll() {
  outcomes_.resize(manifest_.variants.size());
  Progress progress(outcomes_.size(), options_.progress);
  std::vector<size_t> order(outcomes_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Variants with 2-D array images are compiled after their possible twins.
  const auto twins = std::stable_partition(order.begin(), order.end(), [&](size_t i) {
    return !HasLayeredImages(manifest_.variants[i]);
  });
  const auto compile = [&](std::span<const size_t> part) {
    ParallelFor(part.size(), threads_, [&](size_t i, size_t thread) {
      CompileOne(part[i], thread);
      progress.Advance();
    });
  };
  compile({order.begin(), twins});
  for (auto i = order.begin(); i != twins; ++i) {
    if (!outcomes_[*i].compiled.words.empty()) by_key_.emplace(outcomes_[*i].key, *i);
  }
  compile({twins, order.end()});
  report_.compiled = static_cast<size_t>(std::count_if(
      outcomes_.begin(), outcomes_.end(), [](const Outcome& o) { return !o.from_cache; }));
}

void Run::CompileOne(size_t i, size_t thread) {
  const Variant& variant = manifest_.variants[i];
  Outcome& outcome = outcomes_[i];
  TimeTrace* trace = trace_ ? &*trace_ : nullptr;
  Result<std::string> glsl = std::string();
  {
    const PhaseTimer timer(trace, thread, "look up", variant.id);
    glsl = ReadFile(SourceOf(variant));
    if (!glsl.ok()) {
      outcome.status = glsl.status();
      return;
    }
    outcome.key = MakeCacheKey(variant, *glsl, tool_version_);
    if (std::optional<CacheEntry> entry = cache_.Load(outcome.key)) {
      outcome.compiled.words = std::move(entry->words);
      outcome.compiled.skip_reason = std::move(entry->skip_reason);
      outcome.from_cache = true;
      return;
    }
  }
  outcome.compiled = Compile(variant, *glsl, thread);
  if (!outcome.compiled.errors.empty()) return;
  const PhaseTimer timer(trace, thread, "store", variant.id);
  outcome.cache_status =
      cache_.Store(outcome.key, {outcome.compiled.words, outcome.compiled.skip_reason});
}

CompiledVariant Run::Compile(const Variant& variant, std::string_view glsl, size_t thread) {
  TimeTrace* trace = trace_ ? &*trace_ : nullptr;
  if (HasLayeredImages(variant) && options_.debug_root.empty()) {
    const auto twin = by_key_.find(TwinKey(variant, glsl, tool_version_));
    if (twin != by_key_.end()) {
      const PhaseTimer timer(trace, thread, "from twin", variant.id);
      auto words = FromTwin(outcomes_[twin->second].compiled.words, variant);
      if (words.ok()) return {.words = std::move(words).value(), .errors = {}, .skip_reason = ""};
    }
  }
  return CompileVariant(variant, glsl, options_.debug_root, trace, thread);
}

void Run::TrimCache() {
  for (const Outcome& outcome : outcomes_) {
    if (outcome.cache_status.ok()) continue;
    report_.warnings.push_back(outcome.cache_status.message());
    break;
  }
  if (report_.compiled == 0) return;
  std::set<std::string> used;
  for (const Outcome& outcome : outcomes_) used.insert(outcome.key.ToString());
  cache_.Trim(options_.cache_limit, used);
}

Status Run::FirstError() const {
  std::vector<Diagnostic> diagnostics;
  for (const Outcome& outcome : outcomes_) {
    if (!outcome.status.ok()) return outcome.status;
    const std::vector<Diagnostic>& errors = outcome.compiled.errors;
    diagnostics.insert(diagnostics.end(), errors.begin(), errors.end());
  }
  if (diagnostics.empty()) return Status();
  return Status(StatusCode::kInvalidArgument, FormatDiagnostics(std::move(diagnostics)));
}

Status Run::WriteTrace() {
  if (!trace_) return Status();
  report_.time_summary = trace_->Summary();
  return WriteFileAtomically(options_.time_trace, trace_->ToJson());
}

Status Run::WriteProducts() {
  std::vector<PackedVariant> packed;
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    const Variant& variant = manifest_.variants[i];
    CompiledVariant& compiled = outcomes_[i].compiled;
    if (!compiled.skip_reason.empty()) {
      report_.skipped.push_back(variant.id + ": " + compiled.skip_reason);
    } else {
      packed.push_back({&variant, std::move(compiled.words)});
    }
  }
  SPIRLOOM_TRY_ASSIGN(const std::string registry,
                      ReadFile(options_.manifest.parent_path() / manifest_.registry));
  Result<Pack> pack =
      WritePack(registry, packed, {.compress = options_.compress, .threads = threads_});
  if (!pack.ok()) return std::move(pack).status();
  if (!options_.extract_dir.empty()) {
    for (const PackedVariant& module : packed) {
      const std::string_view bytes(reinterpret_cast<const char*>(module.words.data()),
                                   module.words.size() * sizeof(uint32_t));
      const fs::path path = options_.extract_dir / (module.variant->id + ".spv");
      SPIRLOOM_TRY(WriteFileIfChanged(path, bytes).status());
    }
  }
  SPIRLOOM_TRY(WriteDepfile());
  SPIRLOOM_TRY_ASSIGN(report_.pack_written, WriteFileIfChanged(options_.output, pack->bytes));
  report_.variants = packed.size();
  report_.modules = pack->module_count;
  report_.pack_bytes = pack->bytes.size();
  return Status();
}

// Escapes a path for the subset of make syntax that Ninja reads.
std::string EscapeForMake(const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    if (c == ' ' || c == '#') escaped += '\\';
    if (c == '$') escaped += '$';
    escaped += c;
  }
  return escaped;
}

Status Run::WriteDepfile() const {
  if (options_.depfile.empty()) return Status();
  std::string text = EscapeForMake(options_.output.string()) + ":";
  text += " " + EscapeForMake(options_.manifest.string());
  text += " " + EscapeForMake((options_.manifest.parent_path() / manifest_.registry).string());
  for (const Variant& variant : manifest_.variants)
    text += " \\\n  " + EscapeForMake(SourceOf(variant).string());
  return WriteFileIfChanged(options_.depfile, text + "\n").status();
}

}  // namespace

Result<CompileReport> CompileManifest(const CompileOptions& options) {
  return Run(options).Execute();
}

}  // namespace spirloom::compiler
