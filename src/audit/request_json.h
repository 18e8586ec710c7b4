// What a request asks for besides its prompt, as JSON: enough to ask for the same again.
#pragma once

#include "base/json.h"
#include "ruv/engine.h"

namespace ruv {

// What an entry says of a request's own texts: stop texts, forms and the like.
enum class RequestTexts : uint8_t { without, with };

// Every option, default or not, so that new defaults change nothing of an old entry. `form`: what
// request.form was loaded from.
Json request_json(const Request& request, RequestTexts texts);
// A request with this JSON's options; it has no prompt, and no form yet. Fails: corrupt, naming the
// member.
struct ReadRequest {
  Request request;
  std::optional<AnswerForm> form;
};
Result<ReadRequest> read_request_json(const Json& json);

}  // namespace ruv
