// The files of kept responses. Each is a session's file, of its owner as user, whose text is three
// lines: the response, the request's items and the conversation.
#pragma once

#include <string>

#include "engine/session_store.h"
#include "net/responses/response_store.h"

namespace ruv {

// Returns when the file is on disk. Fails: invalid (more than kMaxSessionTextBytes), out_of_memory,
// internal.
Status save_response(SessionStore& files, const std::string& id, const StoredResponse& response);
// Fails: corrupt (the file is damaged, or is none of a response), not_found, internal.
Result<StoredResponse> load_response(const SessionStore& files, const SessionInfo& info);
// Fails: not_found, internal.
Status erase_response(SessionStore& files, const std::string& owner, const std::string& id);

}  // namespace ruv
