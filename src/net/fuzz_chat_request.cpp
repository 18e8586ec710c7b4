// Any bytes as the body of a request: refused with a message, or a request whose limits hold.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/json.h"
#include "net/openai/fields.h"
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
  const auto chat = ruv::parse_body(body, ruv::chat_fields());
  if (chat) check(ruv::read_chat_request(*chat, {}));
  const auto completion = ruv::parse_body(body, ruv::completion_fields());
  if (completion) check(ruv::read_completion_request(*completion, {}));
  return 0;
}
