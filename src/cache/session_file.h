// The bytes of a session's file: a label, which is all that lists need, and the conversation, each
// plain (with hashes that detect damage) or sealed with the cache's key. docs/sessions.md has the
// layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/sealing.h"

namespace ruv {

inline constexpr size_t kMaxSessionTextBytes = size_t{1} << 20;

// An adapter that a session's requests named, and how much of it is added.
struct SessionAdapter {
  std::string name;  // at most 256 bytes
  float scale = 1;
  bool operator==(const SessionAdapter&) const = default;
};
inline constexpr size_t kMaxSessionAdapters = 16;

// What can be known of a session without reading its conversation.
struct SessionInfo {
  std::string user;     // its owner; at most 160 bytes, no NUL; may be empty
  std::string name;     // see check_session_name
  std::string model;    // the one that answered last; at most 256 bytes
  int64_t created = 0;  // unix seconds
  int64_t updated = 0;
  int64_t n_messages = 0;
  int64_t n_tokens = 0;  // of the last prompt and answer; 0: not known
  // Those that the next request takes that names none; at most kMaxSessionAdapters.
  std::vector<SessionAdapter> adapters = {};
};

// Letters, digits, '.', '_' and '-', at most 64, the first a letter or digit. Fails: invalid.
Status check_session_name(std::string_view name);

// Writes and reads such files. Immutable: any number of threads.
class SessionCodec {
 public:
  // Fails: internal (the encryption library does not start).
  static Result<SessionCodec> create(const std::optional<SealKey>& key);

  // A file name that depends only on user and name, and that reveals neither without the key.
  std::string file_name(std::string_view user, std::string_view name) const;
  static bool is_file_name(std::string_view name);

  // Fails: invalid (a limit above; the field is named).
  Result<std::vector<std::byte>> close(const SessionInfo& info, std::string_view text) const;
  // Only the label is read and checked. Fails: corrupt, unsupported (sealed otherwise than this
  // codec, or a newer version), naming `source`.
  Result<SessionInfo> open_label(Bytes file, const std::string& source) const;
  // The conversation too.
  Result<std::string> open_text(Bytes file, const std::string& source) const;

 private:
  explicit SessionCodec(const std::optional<SealKey>& key);

  SealKeys keys_;
};

}  // namespace ruv
