// ApiKeys: which keys open a server, for what, and how much. Only SHA-256 digests of keys are held,
// and every key that is sent is compared with all of them in constant time, so that neither a dump
// of memory nor the time of an answer tells a key. KeyLimits counts what each key used.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ruv {

// What a route is for. A key has some of these.
enum class KeyScope : uint8_t {
  any,       // every key
  infer,     // answers, vectors, tokens
  sessions,  // kept conversations, documents and files
  observe,   // metrics and counters
  manage,    // loading and unloading models
};
inline constexpr uint8_t kAllScopes = 0xFF;

using KeyDigest = std::array<unsigned char, 32>;

struct ApiKey {
  std::string name = {};  // its requests' users and sessions are its own; empty: all share one
  KeyDigest digest = {};
  uint8_t scopes = kAllScopes;  // bit i: KeyScope i
  // In a minute, on average; as many may come at once. 0: no limit.
  int64_t max_requests = 0;
  int64_t max_tokens = 0;  // of prompts and answers, counted when an answer has ended
};

class ApiKeys {
 public:
  ApiKeys() = default;
  // One key without limits.
  explicit ApiKeys(std::string_view key);
  // A key a line: the key alone, or a name, the key or "sha256:" and the digest in hexadecimal, and
  // limits: "alice sha256:9f86… scopes=infer,observe requests=60 tokens=20000". Empty lines and
  // those that begin with '#' say nothing. Fails: invalid, naming the line.
  static Result<ApiKeys> parse(std::string_view text);

  // Whether a key is required at all.
  bool empty() const { return keys_.empty(); }
  // The place of the key that was sent; nothing: it is none of these.
  std::optional<size_t> find(std::string_view sent) const;
  const ApiKey& operator[](size_t place) const { return keys_[place]; }
  size_t size() const { return keys_.size(); }
  bool allows(size_t place, KeyScope scope) const {
    return scope == KeyScope::any || (keys_[place].scopes >> static_cast<unsigned>(scope) & 1) != 0;
  }

 private:
  std::vector<ApiKey> keys_;
};

// Token buckets, by the names of keys, so that they survive a reload. Used on the network thread.
class KeyLimits {
 public:
  using Clock = std::chrono::steady_clock;
  // Counts a request. The seconds after which it may come again; nothing: it may pass.
  std::optional<int64_t> admit(const ApiKey& key, Clock::time_point now);
  // What a request of the key used.
  void charge(const ApiKey& key, int64_t n_tokens, Clock::time_point now);

 private:
  // What is left of a minute's amount; below 0 until the time has paid for it.
  struct Bucket {
    double left = 0;
    Clock::time_point at = {};
  };
  struct Used {
    std::string name;
    Bucket requests, tokens;
  };
  Used& used_by(const ApiKey& key, Clock::time_point now);

  std::vector<Used> used_;
};

}  // namespace ruv
