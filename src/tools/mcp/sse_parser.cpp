#include "tools/mcp/sse_parser.h"

#include <algorithm>
#include <charconv>

namespace ruv {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int64_t kMaxRetryMs = 24LL * 3600 * 1000;

}  // namespace

// Bytes are looked at once: a piece is split at its line ends, and the unfinished line is kept.
Status SseParser::feed(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty()) {
    if (after_return_ && bytes[0] == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    if (bytes.empty()) break;
    const size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (end > max_bytes_ - std::min(max_bytes_, line_.size()))
      return fail(Code::corrupt, "event stream: a line of more than {} bytes", max_bytes_);
    line_.append(bytes.substr(0, end));
    if (end == bytes.size()) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    TRY(end_line(on_event));
  }
  return {};
}

// An empty line ends an event; one without data is dropped.
Status SseParser::end_line(const OnEvent& on_event) {
  std::string_view line = line_;
  if (at_start_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  at_start_ = false;
  Status status;
  if (line.empty()) {
    const SseEvent event = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) status = on_event(event);
  } else {
    const size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    status = take_field(line.substr(0, colon), value);
  }
  line_.clear();
  return status;
}

// Names that the format does not have are comments.
Status SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (event_.data.size() + value.size() >= max_bytes_)
      return fail(Code::corrupt, "event stream: an event of more than {} bytes", max_bytes_);
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (name == "event") {
    event_.type = value;
  } else if (name == "id" && value.find('\0') == value.npos) {
    last_id_ = value;
  } else if (name == "retry") {
    int64_t ms = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ms);
    if (error == std::errc() && end == value.data() + value.size() && ms >= 0)
      retry_ms_ = std::min(ms, kMaxRetryMs);
  }
  return {};
}

}  // namespace ruv
