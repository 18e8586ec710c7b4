// HubHttp: exchanges with a hub or a registry, and with the hosts that it sends on to.
//
// Redirects are followed here, at most kMaxRedirects, never from https to http. The token goes to
// the hub's own origin only and is never part of a message.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/http_client.h"

namespace ruv {

inline constexpr int kMaxRedirects = 5;

// "https://huggingface.co:443": scheme, host and port of a URL. Fails: invalid (not http or https,
// a user's name in it, no host).
Result<std::string> origin_of(std::string_view url);
// Where a "Location" leads from a URL. Fails: corrupt (no URL, or from https to http).
Result<std::string> redirected(const std::string& from, std::string_view location);
// What a server wrote, for a message: its first bytes as one line without control characters.
std::string one_line(std::string_view text);
// What a refusal's answer says, in words; empty status codes do not occur. `what` names the thing
// that was asked for.
Status status_of_answer(const HttpAnswerHead& head, const std::string& what);
// Whether the same exchange may succeed later.
bool may_try_again(const Status& status);

class HubHttp {
 public:
  struct Options {
    std::string endpoint;  // "https://huggingface.co", without a slash at its end
    std::string token = {};
    int64_t stall_s = 30;         // without a byte: the connection counts as broken
    int retries = 8;              // of one exchange without progress
    int64_t first_wait_ms = 100;  // doubled at each try, up to 10 s
  };
  HubHttp(Options options, const Cancellation& cancellation)
      : options_(std::move(options)), cancellation_(cancellation) {}

  const Options& options() const { return options_; }
  const Cancellation& cancellation() const { return cancellation_; }

  // One exchange, redirects followed: the sink sees the last answer only. `final_url`, when not
  // null, is set to the URL that gave it. Fails: as HttpClient, corrupt, and as the sink.
  // `stop` ends this exchange alone.
  Status exchange(HttpExchange exchange, const HttpAnswerSink& sink,
                  std::string* final_url = nullptr, const Cancellation* stop = nullptr);
  // A whole text of at most `limit` bytes, tried again when that may help. Fails: as exchange and
  // status_of_answer.
  Result<std::string> text(const HttpExchange& exchange, size_t limit, const std::string& what,
                           HttpAnswerHead* head = nullptr);
  // Waits before the next try after n that failed, or as long as the answer asked for. False: the
  // work was cancelled.
  bool wait_for_try(int n, int64_t asked_ms = 0, const Cancellation* stop = nullptr) const;

 private:
  Result<std::string> text_once(const HttpExchange& exchange, size_t limit, const std::string& what,
                                HttpAnswerHead& head);
  Options options_;
  const Cancellation& cancellation_;
  HttpClient client_;
};

// Milliseconds that an answer's "Retry-After" asks for, at most a minute; 0: it asks for none.
int64_t asked_wait_ms(const HttpAnswerHead& head);

}  // namespace ruv
