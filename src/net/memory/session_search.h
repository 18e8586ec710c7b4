// A tenant's sessions as documents of a store, so that they are found by what was said in them.
//
// Searches update the store themselves: a session that nothing looks for is never embedded, and an
// answer to a chat waits for no index.
#pragma once

#include "net/http/router.h"
#include "net/memory/document_intake.h"
#include "net/memory/memory_query.h"
#include "net/openai/fields.h"

namespace ruv {

struct SessionInfo;
class SessionStore;

// Sessions on their way into the store. One thread at a time.
class SessionIntake {
 public:
  SessionIntake(ServedMemory& memory, const SessionStore& sessions, std::string tenant,
                std::string folder)
      : memory_(memory),
        sessions_(sessions),
        tenant_(std::move(tenant)),
        folder_(folder),
        documents_(memory, std::move(folder)) {}

  // Takes sessions that are gone out of the store, and cuts up those that changed, the newest
  // first, until they have `most_bytes`; 0: none. Returns the texts whose vectors are needed.
  // Fails: as DocumentIntake::prepare.
  ApiResult<std::vector<std::string>> prepare(const OpenAiService& service, int64_t most_bytes);
  // Requires: the vectors of those texts.
  ApiResult<void> write(EmbeddedTexts embedded);
  // Sessions that changed and were not taken.
  int64_t n_pending() const { return n_pending_; }

 private:
  // Sessions that the store does not have as they are. Those that are gone leave it.
  ApiResult<std::vector<SessionInfo>> changed();

  ServedMemory& memory_;
  const SessionStore& sessions_;
  std::string tenant_, folder_;
  DocumentIntake documents_;
  bool takes_some_ = false;
  int64_t n_pending_ = 0;
};

// The folder of the store with a tenant's sessions.
Result<std::string> session_index_folder(ServedMemory& memory, const std::string& tenant);
// Takes a session out of the store; one that is not there is none. `memory` may be null.
ApiResult<void> forget_session(ServedMemory* memory, const std::string& tenant,
                               const std::string& name);

// The body of POST /v1/sessions/search.
const BodyTable& session_search_fields();
// POST /v1/sessions/search.
std::vector<Route> session_search_routes(ServedModels& models);

}  // namespace ruv
