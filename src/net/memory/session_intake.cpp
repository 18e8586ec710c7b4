#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "chat/read_conversation.h"
#include "engine/session_store.h"
#include "net/memory/session_search.h"

namespace ruv {
namespace {

// More than a tenant can have (SessionStore::Options::max_sessions).
constexpr int64_t kAllSessions = int64_t{1} << 24;

// "user: …" for each message, with blank lines between them, so that chunks end with messages.
std::string said_text(std::span<const Message> messages) {
  std::string text;
  for (const Message& message : messages) {
    const std::string said = joined_text(message);
    if (said.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    text += message.role + ": " + said + "\n\n";
  }
  return text;
}

// What searches compare, and by which a change is noticed.
Json metadata_of(const SessionInfo& info) {
  Json metadata = {{"model", info.model},
                   {"updated", info.updated},
                   {"n_messages", info.n_messages},
                   {"n_tokens", info.n_tokens}};
  for (const SessionAdapter& adapter : info.adapters) metadata["adapter:" + adapter.name] = true;
  return metadata;
}

}  // namespace

Result<std::string> session_index_folder(ServedMemory& memory, const std::string& tenant) {
  return TRY(memory.tenant_folder(tenant)) + "-sessions";
}

ApiResult<void> forget_session(ServedMemory* memory, const std::string& tenant,
                               const std::string& name) {
  if (memory == nullptr) return {};
  const std::string folder = TRY(remembered(*memory, session_index_folder(*memory, tenant)));
  const StoreShelf::Lease store = TRY(remembered(*memory, memory->shelf().find(folder)));
  if (store == nullptr) return {};
  WorkerPool pool(1);
  TRY(remembered(*memory, store->remove(name, pool)));
  return {};
}

ApiResult<std::vector<SessionInfo>> SessionIntake::changed() {
  std::vector<SessionInfo> sessions = sessions_.list(tenant_, {});
  const StoreShelf::Lease store = TRY(remembered(memory_, memory_.shelf().find(folder_)));
  if (store == nullptr) return sessions;
  std::map<std::string, Json, std::less<>> known;
  for (StoredDocument& one : TRY(remembered(memory_, store->list("", kAllSessions)))) {
    known.emplace(std::move(one.name), std::move(one.metadata));
  }
  std::erase_if(sessions, [&known](const SessionInfo& info) {
    const auto at = known.find(info.name);
    if (at == known.end()) return false;
    const bool is_same = at->second == metadata_of(info);
    known.erase(at);
    return is_same;
  });
  WorkerPool pool(1);
  for (const auto& [name, metadata] : known) {
    TRY(remembered(memory_, store->remove(name, pool)));
  }
  return sessions;
}

// One session at least, where any may be taken: else a long one would wait forever.
ApiResult<std::vector<std::string>> SessionIntake::prepare(const OpenAiService& service,
                                                           int64_t most_bytes) {
  std::vector<SessionInfo> sessions = TRY(changed());
  std::ranges::stable_sort(sessions, std::ranges::greater(), &SessionInfo::updated);
  std::vector<DocumentToAdd> documents;
  int64_t n_bytes = 0;
  for (const SessionInfo& info : sessions) {
    if (n_bytes >= most_bytes) {
      ++n_pending_;
      continue;
    }
    // One that cannot be read is named on the server's console; one that was deleted meanwhile is
    // not looked for.
    const Result<Session> session = sessions_.load(tenant_, info.name);
    if (!session) continue;
    const auto messages = read_session_messages(*session);
    if (!messages) continue;
    DocumentToAdd document{.name = info.name, .text = said_text(*messages)};
    if (document.text.empty()) continue;
    document.metadata = metadata_of(session->info);
    n_bytes += std::ssize(document.text);
    documents.push_back(std::move(document));
  }
  takes_some_ = !documents.empty();
  if (!takes_some_) return std::vector<std::string>();
  return documents_.prepare(service, std::move(documents));
}

ApiResult<void> SessionIntake::write(EmbeddedTexts embedded) {
  if (takes_some_) TRY(documents_.write(std::move(embedded)));
  return {};
}

}  // namespace ruv
