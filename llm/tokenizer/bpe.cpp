#include "llm/tokenizer/bpe.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "llm/tokenizer/utf8.h"
#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr int32_t kInvalidToken = -1;

uint64_t KeyOf(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

std::string ByteName(size_t byte) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + '>';
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

Status Bpe::AddMerge(std::string_view left, std::string_view right) {
  std::string both(left);
  both += right;
  const auto a = vocabulary_.find(left);
  const auto b = vocabulary_.find(right);
  const auto c = vocabulary_.find(both);
  if (a == vocabulary_.end() || b == vocabulary_.end() || c == vocabulary_.end()) {
    return InvalidFile(
        "Merge {} joins {} and {}; the vocabulary must contain both and their concatenation.",
        added_, Quote(left), Quote(right));
  }
  merges_.insert_or_assign(KeyOf(a->second, b->second), Merge{added_, c->second});
  ++added_;
  return Status();
}

Status Bpe::SetUnknown(std::string_view token, bool fused) {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) {
    return InvalidFile("The unknown token {} is not in the vocabulary.", Quote(token));
  }
  unknown_ = found->second;
  fused_ = fused;
  return Status();
}

void Bpe::EnableByteFallback() {
  byte_fallback_ = true;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    const auto found = vocabulary_.find(ByteName(i));
    bytes_[i] = found == vocabulary_.end() ? kInvalidToken : found->second;
  }
}

std::optional<uint8_t> Bpe::ByteOf(std::string_view token) const {
  if (token.size() != 6) return std::nullopt;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (token == ByteName(i)) return static_cast<uint8_t>(i);
  }
  return std::nullopt;
}

void Bpe::Encode(std::string_view word, std::vector<int32_t>& tokens) const {
  if (ignore_merges_) {
    const auto found = vocabulary_.find(word);
    if (found != vocabulary_.end()) {
      tokens.push_back(found->second);
      return;
    }
  }
  std::vector<Symbol> symbols = SymbolsOf(word);
  MergeAll(symbols);
  for (const Symbol& symbol : symbols) {
    if (symbol.token != kInvalidToken) tokens.push_back(symbol.token);
  }
}

std::vector<Bpe::Symbol> Bpe::SymbolsOf(std::string_view word) const {
  std::vector<Symbol> symbols;
  while (!word.empty()) {
    const size_t size = CharSize(word);
    AddCharacter(word.substr(0, size), symbols);
    word.remove_prefix(size);
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = i == 0 ? kNone : i - 1;
    symbols[i].next = i + 1 == symbols.size() ? kNone : i + 1;
  }
  return symbols;
}

void Bpe::AddCharacter(std::string_view character, std::vector<Symbol>& symbols) const {
  const auto found = vocabulary_.find(character);
  if (found != vocabulary_.end()) {
    symbols.push_back({found->second, 0, 0});
    return;
  }
  const auto byte_token = [&](char byte) { return bytes_[static_cast<uint8_t>(byte)]; };
  if (byte_fallback_ && std::ranges::all_of(character, [&](char byte) {
        return byte_token(byte) != kInvalidToken;
      })) {
    for (const char byte : character) symbols.push_back({byte_token(byte), 0, 0});
    return;
  }
  if (unknown_ == kInvalidToken) return;
  if (fused_ && !symbols.empty() && symbols.back().token == unknown_) return;
  symbols.push_back({unknown_, 0, 0});
}

const Bpe::Merge* Bpe::Find(int32_t left, int32_t right) const {
  const auto found = merges_.find(KeyOf(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// Applies merges in order of rank; equal pairs from left to right.
void Bpe::MergeAll(std::vector<Symbol>& symbols) const {
  using Candidate = std::tuple<size_t, size_t, int32_t>;  // rank, left index, merged token
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto push = [&](size_t left) {
    if (left == kNone || symbols[left].next == kNone) return;
    const Merge* merge = Find(symbols[left].token, symbols[symbols[left].next].token);
    if (merge != nullptr) queue.emplace(merge->rank, left, merge->token);
  };
  for (size_t i = 0; i < symbols.size(); ++i) push(i);
  while (!queue.empty()) {
    const auto [rank, left, token] = queue.top();
    queue.pop();
    Symbol& symbol = symbols[left];
    if (symbol.token == kInvalidToken || symbol.next == kNone) continue;
    // Skip stale candidates: a symbol has changed since the push.
    const Merge* merge = Find(symbol.token, symbols[symbol.next].token);
    if (merge == nullptr || merge->token != token) continue;
    Symbol& right = symbols[symbol.next];
    symbol.token = token;
    right.token = kInvalidToken;
    symbol.next = right.next;
    if (symbol.next != kNone) symbols[symbol.next].previous = left;
    push(symbol.previous);
    push(left);
  }
}

}  // namespace spirloom::llm
