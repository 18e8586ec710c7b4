// Any bytes as what a client sends over a connection, in pieces, to the real connection and all
// routes. The server must have ended the connection when the client has closed it: nothing may wait
// for a clock. Nothing of the requests may stay in the budget.
#include <cstddef>
#include <cstdint>
#include <random>

#include "net/fuzz_connection.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace ruv {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// Lines that requests begin with or may contain.
constexpr const char* kRequestLines[] = {"GET /health HTTP/1.1",
                                         "POST /tokenize HTTP/1.1",
                                         "POST /v1/completions HTTP/1.1",
                                         "POST /v1/chat/completions HTTP/1.1",
                                         "HEAD /health HTTP/1.1",
                                         "GET /v1/models HTTP/1.0",
                                         "PUT /v1/sessions/s HTTP/1.1",
                                         "DELETE /v1/sessions/s?user=u HTTP/1.1",
                                         "GET /v1/sessions HTTP/1.1",
                                         "OPTIONS * HTTP/1.1",
                                         "POST http://localhost/tokenize HTTP/1.1",
                                         "GET /%00%zz?x=%41 HTTP/1.1"};
constexpr const char* kHeaders[] = {"Host: localhost",
                                    "Host: evil.example",
                                    "Content-Length: 0",
                                    "Content-Length: 5",
                                    "Content-Length: 99999999999",
                                    "Content-Length: -1",
                                    "Transfer-Encoding: chunked",
                                    "Transfer-Encoding: gzip, chunked",
                                    "Transfer-Encoding: xchunked",
                                    "Expect: 100-continue",
                                    "Connection: close",
                                    "Connection: keep-alive",
                                    "Connection: upgrade",
                                    "Authorization: Bearer x",
                                    "Authorization: bearer key",
                                    "Content-Type: application/json",
                                    "Content-Type: text/plain",
                                    "Origin: http://localhost:1",
                                    "Origin: null",
                                    " folded",
                                    "Trailer: X"};

template <size_t n>
std::string pick(const char* const (&rows)[n], std::minstd_rand& random) {
  return rows[random() % n];
}

std::string mutated(const std::string& text, size_t max_size) {
  std::string room = text;
  room.resize(std::max(max_size, text.size() + 1));
  const size_t n =
      LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(room.data()), text.size(), room.size());
  room.resize(n);
  return room;
}

std::string as_chunks(const std::string& body, std::minstd_rand& random) {
  std::string out;
  for (size_t at = 0; at < body.size();) {
    const size_t n = std::min<size_t>(1 + random() % 64, body.size() - at);
    const char* extension = random() % 8 == 0 ? ";a=b" : "";
    out += fmt::format("{:x}{}\r\n{}\r\n", n, extension, body.substr(at, n));
    at += n;
  }
  return out + (random() % 8 == 0 ? "0\r\nX: trailer\r\n\r\n" : "0\r\n\r\n");
}

// One request of a conversation: its lines, and what follows until the next one.
struct RawMessage {
  std::vector<std::string> lines;
  std::string body;
};

std::string joined(const RawMessage& message) {
  std::string text;
  for (const std::string& line : message.lines) text += line + std::string(kLineEnd);
  return text + std::string(kLineEnd) + message.body;
}

// The first request of `text`; its body is what its Content-Length says, as far as it is there.
RawMessage split_off(std::string& text) {
  RawMessage message;
  const size_t end = std::min(text.find(kHeadEnd), text.size());
  const std::string head = text.substr(0, end);
  text.erase(0, std::min(end + kHeadEnd.size(), text.size()));
  size_t length = 0;
  for (size_t at = 0; at < head.size();) {
    const size_t stop = std::min(head.find(kLineEnd, at), head.size());
    message.lines.push_back(head.substr(at, stop - at));
    constexpr std::string_view kLength = "Content-Length: ";
    if (message.lines.back().starts_with(kLength)) {
      length = std::strtoul(message.lines.back().c_str() + kLength.size(), nullptr, 10);
    }
    at = stop + kLineEnd.size();
  }
  message.body = text.substr(0, length);
  text.erase(0, message.body.size());
  return message;
}

// The header that tells where the body ends, made true.
void frame_again(RawMessage& message, std::minstd_rand& random) {
  std::erase_if(message.lines, [](const std::string& line) {
    return line.starts_with("Content-Length") || line.starts_with("Transfer-Encoding");
  });
  if (message.lines.empty()) message.lines.push_back(pick(kRequestLines, random));
  if (random() % 4 == 0) {
    message.lines.emplace_back("Transfer-Encoding: chunked");
    message.body = as_chunks(message.body, random);
  } else {
    message.lines.push_back("Content-Length: " + std::to_string(message.body.size()));
  }
}

void change(RawMessage& message, std::minstd_rand& random) {
  std::vector<std::string>& lines = message.lines;
  const size_t at = lines.empty() ? 0 : random() % lines.size();
  switch (random() % 7) {
    case 0:
      if (!lines.empty()) lines[0] = pick(kRequestLines, random);
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<int64_t>(at), pick(kHeaders, random));
      break;
    case 2:
      if (!lines.empty()) lines.erase(lines.begin() + static_cast<int64_t>(at));
      break;
    case 3:
      if (!lines.empty()) lines[at] = mutated(lines[at], lines[at].size() + 32);
      break;
    case 4:
      if (!lines.empty()) lines.push_back(lines[at]);
      break;
    default:
      message.body = mutated(message.body, message.body.size() + 64);
      frame_again(message, random);
  }
}

}  // namespace
}  // namespace ruv

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  std::minstd_rand random(seed);
  if (size < 2 || random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<ruv::RawMessage> messages;
  while (!text.empty() && messages.size() < 64) messages.push_back(ruv::split_off(text));
  ruv::RawMessage& one = messages[random() % messages.size()];
  if (random() % 8 == 0) {
    messages.push_back(ruv::RawMessage(one));
  } else {
    ruv::change(one, random);
  }
  std::string out(1, random() % 4 == 0 ? static_cast<char>(random()) : static_cast<char>(data[0]));
  for (const ruv::RawMessage& message : messages) out += ruv::joined(message);
  const size_t n = std::min(out.size(), max_size);
  std::copy_n(out.begin(), n, reinterpret_cast<char*>(data));
  return n;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static ruv::FuzzConnection connection;
  if (size == 0) return 0;
  const std::string answers =
      connection.converse({reinterpret_cast<const char*>(bytes) + 1, size - 1}, bytes[0]);
  CHECK(answers.empty() || answers.starts_with("HTTP/1.1 ") ||
        answers.starts_with(ruv::kHttp2Settings));
  CHECK(answers.find(" Unknown\r\n") == std::string::npos);
  return 0;
}
