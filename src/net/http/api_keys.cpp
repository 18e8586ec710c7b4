#include "net/http/api_keys.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ruv {
namespace {

constexpr size_t kMaxKeys = 4096;
constexpr size_t kMaxKeyNameBytes = 32;
constexpr double kMinuteSeconds = 60;

KeyDigest digest_of(std::string_view key) {
  KeyDigest digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return digest;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
  line.remove_prefix(word.size());
  return word;
}

// Keys go in a header's value.
bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F; });
}

// A key, or "sha256:" and its digest.
Result<KeyDigest> read_key(std::string_view word) {
  constexpr std::string_view kMark = "sha256:";
  if (!word.starts_with(kMark)) {
    if (!is_visible(word)) return fail(Code::invalid, "a key has visible ASCII characters only");
    return digest_of(word);
  }
  word.remove_prefix(kMark.size());
  KeyDigest digest{};
  size_t n = 0;
  const char* end = nullptr;
  const int wrong =
      sodium_hex2bin(digest.data(), digest.size(), word.data(), word.size(), nullptr, &n, &end);
  if (wrong != 0 || n != digest.size() || end != word.data() + word.size()) {
    return fail(Code::invalid, "'sha256:' needs 64 hexadecimal digits");
  }
  return digest;
}

Result<uint8_t> read_scopes(std::string_view names) {
  uint8_t scopes = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    KeyScope scope = KeyScope::any;
    if (name == "infer") scope = KeyScope::infer;
    if (name == "sessions") scope = KeyScope::sessions;
    if (name == "observe") scope = KeyScope::observe;
    if (name == "manage") scope = KeyScope::manage;
    if (scope == KeyScope::any) {
      return fail(Code::invalid, "scope '{}' is none of infer, sessions, observe and manage", name);
    }
    scopes = static_cast<uint8_t>(scopes | 1U << static_cast<unsigned>(scope));
  }
  return scopes;
}

Status read_limit(std::string_view word, ApiKey& key) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = word.substr(std::min(equals + 1, word.size()));
  if (name == "scopes") {
    key.scopes = TRY(read_scopes(value));
    return {};
  }
  if (name != "requests" && name != "tokens") {
    return fail(Code::invalid, "'{}' is none of scopes=, requests= and tokens=", name);
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 1) {
    return fail(Code::invalid, "'{}' needs a number from 1 on", name);
  }
  (name == "requests" ? key.max_requests : key.max_tokens) = number;
  return {};
}

Result<ApiKey> read_line(std::string_view line) {
  ApiKey key;
  const std::string_view first = next_word(line);
  const std::string_view second = next_word(line);
  if (second.empty()) {
    key.digest = TRY(read_key(first));
    return key;
  }
  if (first.size() > kMaxKeyNameBytes || !is_visible(first) || first.find('/') != first.npos) {
    return fail(Code::invalid, "a name has at most {} visible characters and no '/'",
                kMaxKeyNameBytes);
  }
  key.name = first;
  key.digest = TRY(read_key(second));
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    TRY(read_limit(word, key));
  }
  return key;
}

// Refills by the time that has passed, to one minute's amount at most.
void refill(double& left, std::chrono::duration<double> passed, int64_t most) {
  const auto whole = static_cast<double>(most);
  left = std::min(whole, left + passed.count() * whole / kMinuteSeconds);
}

// Seconds until `left` is `wanted`.
int64_t seconds_until(double left, double wanted, int64_t most) {
  const double seconds = (wanted - left) * kMinuteSeconds / static_cast<double>(most);
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(seconds)));
}

}  // namespace

ApiKeys::ApiKeys(std::string_view key) {
  if (!key.empty()) keys_.push_back({.digest = digest_of(key)});
}

Result<ApiKeys> ApiKeys::parse(std::string_view text) {
  ApiKeys keys;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string_view rest = line;
    const std::string_view first = next_word(rest);
    if (first.empty() || first.starts_with('#')) continue;
    Result<ApiKey> key = read_line(line);
    if (!key) return fail(Code::invalid, "line {}: {}", number, key.error().message());
    const bool is_twice =
        !key->name.empty() &&
        std::ranges::find(keys.keys_, key->name, &ApiKey::name) != keys.keys_.end();
    if (is_twice) return fail(Code::invalid, "line {}: '{}' has a key already", number, key->name);
    keys.keys_.push_back(std::move(*key));
    if (keys.keys_.size() > kMaxKeys) {
      return fail(Code::invalid, "line {}: more than {} keys", number, kMaxKeys);
    }
  }
  return keys;
}

// All keys are compared, whichever it is.
std::optional<size_t> ApiKeys::find(std::string_view sent) const {
  const KeyDigest digest = digest_of(sent);
  std::optional<size_t> found;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (sodium_memcmp(digest.data(), keys_[i].digest.data(), digest.size()) == 0) found = i;
  }
  return found;
}

// A key's first request finds a whole minute's amount.
KeyLimits::Used& KeyLimits::used_by(const ApiKey& key, Clock::time_point now) {
  auto found = std::ranges::find(used_, key.name, &Used::name);
  if (found == used_.end()) {
    used_.push_back({.name = key.name, .requests = {}, .tokens = {}});
    found = used_.end() - 1;
    found->requests = {static_cast<double>(key.max_requests), now};
    found->tokens = {static_cast<double>(key.max_tokens), now};
  }
  refill(found->requests.left, now - found->requests.at, key.max_requests);
  refill(found->tokens.left, now - found->tokens.at, key.max_tokens);
  found->requests.at = found->tokens.at = now;
  return *found;
}

std::optional<int64_t> KeyLimits::admit(const ApiKey& key, Clock::time_point now) {
  if (key.max_requests == 0 && key.max_tokens == 0) return std::nullopt;
  Used& used = used_by(key, now);
  if (key.max_requests > 0 && used.requests.left < 1) {
    return seconds_until(used.requests.left, 1, key.max_requests);
  }
  if (key.max_tokens > 0 && used.tokens.left <= 0) {
    return seconds_until(used.tokens.left, 1, key.max_tokens);
  }
  used.requests.left -= 1;
  return std::nullopt;
}

void KeyLimits::charge(const ApiKey& key, int64_t n_tokens, Clock::time_point now) {
  if (key.max_tokens > 0) used_by(key, now).tokens.left -= static_cast<double>(n_tokens);
}

}  // namespace ruv
