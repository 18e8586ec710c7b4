// Server-sent events: the form in which an HTTP server streams messages (WHATWG HTML, section 9.2).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ruv {

struct SseEvent {
  std::string type;  // empty: a message
  std::string data;  // lines joined by '\n'
};

// Takes bytes as they come, in pieces of any size.
class SseParser {
 public:
  using OnEvent = std::function<Status(const SseEvent&)>;
  // A line, and the data of one event, have at most max_bytes.
  explicit SseParser(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls on_event for each event that is complete now, in linear time. Fails: corrupt (a limit is
  // passed), and as on_event; nothing more may be fed then.
  Status feed(std::string_view bytes, const OnEvent& on_event);
  // The id of the last event that had one: where a stream can be resumed. Empty: none.
  const std::string& last_id() const { return last_id_; }
  // The time to wait before connecting again, when the server has given one.
  std::optional<int64_t> retry_ms() const { return retry_ms_; }

 private:
  Status end_line(const OnEvent& on_event);
  Status take_field(std::string_view name, std::string_view value);

  size_t max_bytes_;
  std::string line_;
  bool after_return_ = false;  // the last byte was '\r': a '\n' belongs to it
  bool at_start_ = true;       // of the stream, where a byte order mark may be
  bool has_data_ = false;
  SseEvent event_;
  std::string last_id_;
  std::optional<int64_t> retry_ms_;
};

}  // namespace ruv
