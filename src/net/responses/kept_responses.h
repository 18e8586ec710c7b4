// What a client may do with a response once it has its id, also while it is made in the background.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/api_error.h"
#include "net/http/message.h"
#include "net/http/reply.h"
#include "net/openai/service.h"
#include "net/responses/response_store.h"

namespace ruv {

ApiError no_response(std::string_view id, std::string param);
// None: there is none of this id that the key of the request asked for.
std::optional<StoredResponse> find_kept(const ServerParts& server, const std::string& id,
                                        const HttpRequest& http);

// Answer through the reply, also after they have returned, or fail.
using KeptAction = ApiResult<void> (*)(const ServerParts& server, const HttpRequest& http,
                                       const std::shared_ptr<Reply>& reply);

// The response as it is now; with ?stream=true its events, from the one after ?starting_after= on.
// Fails: 400, 404.
ApiResult<void> show_response(const ServerParts& server, const HttpRequest& http,
                              const std::shared_ptr<Reply>& reply);
// Ends it if need be, and drops it. Fails: 404, 500.
ApiResult<void> delete_response(const ServerParts& server, const HttpRequest& http,
                                const std::shared_ptr<Reply>& reply);
// Ends it if need be, and shows it. Fails: 400 (it is not in the background), 404.
ApiResult<void> cancel_response(const ServerParts& server, const HttpRequest& http,
                                const std::shared_ptr<Reply>& reply);

}  // namespace ruv
