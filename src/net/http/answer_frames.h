// AnswerFrames: how the parts of an answer become what its connection sends. Http1Frames makes the
// bytes that HTTP/1.1 has for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/message.h"

namespace ruv {

// What an answer begins with.
struct ResponseHead {
  int status = 200;
  std::string_view content_type;
  std::optional<uint64_t> length = {};  // of the body; none: it is a stream
  HeaderLines lines = {};               // of this answer
};

class AnswerFrames {
 public:
  // `lines`: those that every answer to the request has.
  AnswerFrames(HeaderLines lines, bool head_only)
      : lines_(std::move(lines)), head_only_(head_only) {}
  virtual ~AnswerFrames() = default;

  // The bytes to send before the body, once.
  virtual std::string begin(const ResponseHead& head) = 0;
  // The bytes to send for a part, which is not empty, of a body without length.
  virtual std::string piece(std::string bytes) = 0;
  // For its last part, which may be empty.
  virtual std::string last(std::string bytes) = 0;
  // The request was HEAD: no body follows, and neither piece() nor last() is called.
  bool head_only() const { return head_only_; }
  const HeaderLines& lines() const { return lines_; }

 private:
  HeaderLines lines_;
  bool head_only_;
};

// How HTTP/1.1 frames an answer, by what the request said.
struct AnswerFraming {
  bool keep_alive = true;
  bool chunked = true;     // false for HTTP/1.0: the end of the connection ends a stream
  bool head_only = false;  // the request was HEAD
  HeaderLines lines = {};  // that every answer to the request has
};

class Http1Frames final : public AnswerFrames {
 public:
  explicit Http1Frames(AnswerFraming framing)
      : AnswerFrames(std::move(framing.lines), framing.head_only),
        keep_alive_(framing.keep_alive),
        chunked_(framing.chunked) {}

  std::string begin(const ResponseHead& head) override;
  std::string piece(std::string bytes) override;
  std::string last(std::string bytes) override;

 private:
  bool keep_alive_;
  bool chunked_;
};

// The whole bytes of a response in HTTP/1.1.
std::string response_bytes(const HttpResponse& response, const AnswerFraming& framing);

}  // namespace ruv
