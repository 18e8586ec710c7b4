// Http2Head: the head of an HTTP/2 request as its fields arrive, within limits, and what it says.
// nghttp2 has checked names, values and the order of fields by then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/api_error.h"
#include "net/http/answer_frames.h"
#include "net/http/budget.h"
#include "net/http/request_head.h"

namespace ruv {

class Http2Head {
 public:
  Http2Head(ServerBudget& budget, uint32_t max_bytes)
      : max_bytes_(max_bytes), share_(budget, BudgetUse::buffers) {}

  // One field; nothing is kept of a head that is too long. False: the connection should end.
  bool add(std::string_view name, std::string_view value);
  // The refusal of a head that is complete, or none.
  std::optional<HttpResponse> fault();
  // Requires: no fault.
  HttpRequest request() const { return to_request(head_); }
  bool is_head_method() const { return head_.method_string() == "HEAD"; }
  bool asks_first() const;
  // The Content-Length.
  std::optional<uint64_t> length() const;

 private:
  bool add_pseudo(std::string_view name, std::string_view value);

  uint32_t max_bytes_;
  BudgetShare share_;
  uint64_t n_bytes_ = 0;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts them
  bool is_long_ = false;
  bool has_no_room_ = false;
  RequestHead head_;
  std::optional<std::string> authority_;
  std::string scheme_;
};

// What of an answer's head HTTP/2 sends as fields; the body is sent as it is.
class Http2Frames final : public AnswerFrames {
 public:
  using AnswerFrames::AnswerFrames;

  std::string begin(const ResponseHead& head) override;
  std::string piece(std::string bytes) override { return bytes; }
  std::string last(std::string bytes) override { return bytes; }
  // The fields of the head, once after it has begun; names are in lower case.
  std::optional<HeaderLines> take_head() { return std::exchange(fields_, std::nullopt); }

 private:
  std::optional<HeaderLines> fields_;
};

}  // namespace ruv
