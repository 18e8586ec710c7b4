// Any bytes as the body of a request: refused with a message, or a request whose limits hold.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "net/openai/generate_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  const auto check = [](const ruv::ApiResult<ruv::GenerateRequest>& request) {
    if (!request) {
      CHECK(request.error().status == 400 && !request.error().message.empty());
      CHECK(!ruv::error_json(request.error()).empty());
      return;
    }
    CHECK(request->n >= 1 && request->n <= ruv::kMaxChoices);
    CHECK(request->params.stop.size() <= 16);
    CHECK(request->params.n_logprobs >= -1 && request->params.n_logprobs <= 20);
  };
  check(ruv::parse_chat_request(body));
  check(ruv::parse_completion_request(body));
  return 0;
}
