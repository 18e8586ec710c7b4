#include "net/http/answer_frames.h"

#include <fmt/format.h>

namespace ruv {
namespace {

void add_lines(std::string& bytes, const HeaderLines& lines) {
  for (const auto& [name, value] : lines) {
    bytes.append(name).append(": ").append(value).append("\r\n");
  }
}

}  // namespace

// The status line and headers.
std::string Http1Frames::begin(const ResponseHead& head) {
  std::string bytes =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}: {}\r\n", head.status,
                  http_reason(head.status), head.content_type, kAsDeclaredName, kAsDeclaredValue);
  if (head.status == 304) {
    // Its body would be the page that the client has; no length is that of nothing.
  } else if (head.length) {
    bytes += fmt::format("Content-Length: {}\r\n", *head.length);
  } else if (chunked_) {
    bytes += "Transfer-Encoding: chunked\r\n";
  }
  add_lines(bytes, lines());
  bytes += keep_alive_ ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  add_lines(bytes, head.lines);
  return bytes += "\r\n";
}

std::string Http1Frames::piece(std::string bytes) {
  return chunked_ ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : std::move(bytes);
}

// An empty chunk ends the body.
std::string Http1Frames::last(std::string bytes) {
  if (!chunked_) return bytes;
  if (bytes.empty()) return "0\r\n\r\n";
  return fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", bytes.size(), bytes);
}

std::string response_bytes(const HttpResponse& response, const AnswerFraming& framing) {
  std::string bytes = Http1Frames(framing).begin({.status = response.status,
                                                  .content_type = response.content_type,
                                                  .length = response.body.size(),
                                                  .lines = response.headers});
  if (!framing.head_only) bytes += response.body;
  return bytes;
}

}  // namespace ruv
