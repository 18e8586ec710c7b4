#include "engine/session_store.h"

#include <algorithm>

#include "base/check.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/thread.h"
#include "chat/read_conversation.h"

namespace ruv {
namespace {

constexpr size_t kMaxNotes = 20;
constexpr int kMaxDepth = 8;

// User and name joined by NUL, which neither contains.
std::string key_of(std::string_view user, std::string_view name) {
  std::string key(user);
  key.push_back('\0');
  return key.append(name);
}

struct KeyParts {
  std::string_view user;
  std::string_view name;
};
KeyParts parts_of(std::string_view key) {
  const size_t end = key.find('\0');
  return {key.substr(0, end), key.substr(end + 1)};
}

tl::unexpected<Status> no_session(std::string_view name) {
  return fail(Code::not_found, "there is no session '{}'", name);
}

// A temporary file of a process that ended while it wrote.
bool is_unfinished(std::string_view file) {
  const size_t at = file.find(".partial.");
  return at != file.npos && SessionCodec::is_file_name(file.substr(0, at));
}

// An assistant's message may only call tools.
bool says_something(const Message& message) {
  if (!message.parts.empty()) return true;
  const Json* members = message.members.json();
  const Json* calls = members == nullptr ? nullptr : members->find("tool_calls");
  return calls != nullptr && calls->is_array() && !calls->empty();
}

}  // namespace

// The messages are stored as the JSON text of a chat request.
Result<std::vector<Message>> read_session_messages(const Session& session) {
  const std::string source = fmt::format("session '{}'", session.info.name);
  const Json list = TRY(parse_json(session.messages, source, {.depth = kMaxDepth}));
  auto messages = read_messages(list);
  if (!messages) return fail(Code::corrupt, "{}: {}", source, messages.error().message);
  if (std::ranges::all_of(*messages, says_something)) return std::move(*messages);
  return fail(Code::corrupt, "{}: a message has no content", source);
}

void set_session_messages(Session& session, std::span<const Message> messages) {
  session.info.n_messages = static_cast<int64_t>(messages.size());
  session.messages = messages_json(messages).dump();
}

void add_session_messages(Session& session, std::span<const Message> messages) {
  if (session.info.n_messages == 0) return set_session_messages(session, messages);
  session.info.n_messages += static_cast<int64_t>(messages.size());
  // "[a]" and "[b]" are "[a,b]".
  session.messages.back() = ',';
  session.messages += std::string_view(messages_json(messages).dump()).substr(1);
}

// Takes the folder's lock before reading anything.
Result<std::unique_ptr<SessionStore>> SessionStore::open(Options options) {
  if (!options.read_only) TRY(make_folder(options.folder));
  SessionCodec codec = TRY(SessionCodec::create(options.key));
  std::unique_ptr<SessionStore> store(new SessionStore(std::move(options), std::move(codec)));
  if (!store->options_.read_only)
    store->lock_.emplace(TRY(FileLock::take(store->options_.folder + "/lock")));
  store->index_files();
  return store;
}

// Reads the label of every file; damaged ones are noted and left alone.
void SessionStore::index_files() {
  for (const FolderEntry& file : files_in(options_.folder)) {
    const std::string name = file_name_of(file.path);
    if (is_unfinished(name) && !options_.read_only) remove_file(file.path);
    if (!SessionCodec::is_file_name(name)) continue;
    const Result<MappedFile> mapped = MappedFile::open(file.path);
    const Result<SessionInfo> info =
        mapped ? codec_.open_label(mapped->bytes(), file.path) : failure(Status(mapped.error()));
    if (!info) {
      ignore(info.error().message());
    } else if (codec_.file_name(info->user, info->name) != name) {
      ignore(fmt::format("{}: renamed", file.path));
    } else {
      index(*info);
    }
  }
  if (n_ignored_ > kMaxNotes && options_.note)
    options_.note(
        fmt::format("{}: {} more files are ignored", options_.folder, n_ignored_ - kMaxNotes));
}

void SessionStore::ignore(const std::string& reason) {
  if (++n_ignored_ <= kMaxNotes && options_.note)
    options_.note(fmt::format("{}; the session's file is ignored", reason));
}

void SessionStore::index(const SessionInfo& info) {
  entries_.insert_or_assign(key_of(info.user, info.name),
                            Entry{&*models_.insert(info.model).first, info.created, info.updated,
                                  info.n_messages, info.n_tokens, info.adapters});
}

std::string SessionStore::path_of(std::string_view key) const {
  const auto [user, name] = parts_of(key);
  return options_.folder + "/" + codec_.file_name(user, name);
}

// Releases the session.
SessionStore::Hold::~Hold() {
  if (store_ == nullptr) return;
  const Lock lock(store_->mutex_);
  store_->held_.erase(key_);
}

Result<SessionStore::Hold> SessionStore::hold(const std::string& user, const std::string& name) {
  TRY(check_session_name(name));
  if (options_.read_only)
    return fail(Code::unsupported, "{}: opened to read only", options_.folder);
  std::string key = key_of(user, name);
  const Lock lock(mutex_);
  if (held_.contains(key))
    return fail(Code::unavailable, "session '{}' is being answered or changed; ask again", name);
  // Held sessions may be new as well; they are entered when they are saved.
  if (!entries_.contains(key) && entries_.size() + held_.size() >= options_.max_sessions)
    return fail(Code::out_of_memory, "there are {} sessions; delete some", entries_.size());
  held_.insert(key);
  return Hold(this, std::move(key));
}

// Reads the file without holding the mutex.
Result<Session> SessionStore::load(const std::string& user, const std::string& name) const {
  TRY(check_session_name(name));
  const std::string path = path_of(key_of(user, name));
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file && file.error().code() == Code::not_found) return no_session(name);
  if (!file) return failure(told(name, file.error(), "cannot be read"));
  Result<Session> session = read(file->bytes(), path);
  if (!session) return failure(told(name, session.error(), "is damaged"));
  if (session->info.user == user && session->info.name == name) return session;
  return failure(told(name, fail(Code::corrupt, "{}: renamed, it is another session's", path),
                      "is another session's"));
}

Result<Session> SessionStore::read(std::span<const std::byte> bytes,
                                   const std::string& path) const {
  Session session;
  session.info = TRY(codec_.open_label(bytes, path));
  session.messages = TRY(codec_.open_text(bytes, path));
  return session;
}

// What went wrong is the server's own state, whatever the system calls it.
Status SessionStore::told(std::string_view name, const Status& status,
                          std::string_view what) const {
  if (status.ok()) return {};
  if (options_.note) options_.note(status.message());
  const bool is_known = status.code() == Code::corrupt || status.code() == Code::out_of_memory;
  return Status(
      is_known ? status.code() : Code::internal,
      fmt::format("the file of session '{}' {}; the server's console says why", name, what));
}

// Writes a temporary file, syncs and renames it; the index is updated only then.
Status SessionStore::save(const Hold& hold, const Session& session) {
  CHECK(hold.store_ == this && hold.key_ == key_of(session.info.user, session.info.name));
  const std::string path = path_of(hold.key_);
  bool is_new = false;
  {
    const Lock lock(mutex_);
    is_new = !entries_.contains(hold.key_);
  }
  if (is_new && file_exists(path)) {
    return fail(Code::corrupt,
                "the file of session '{}' is damaged, and not written over; delete the session",
                session.info.name);
  }
  const std::vector<std::byte> bytes = TRY(codec_.close(session.info, session.messages));
  TRY(told(session.info.name, write(path, bytes), "cannot be written"));
  const Lock lock(mutex_);
  index(session.info);
  return {};
}

Status SessionStore::write(const std::string& path, std::span<const std::byte> bytes) const {
  FileWriter writer =
      TRY(FileWriter::create(path, {.readers = FileReaders::owner, .replace = true}));
  TRY(writer.write(bytes));
  TRY(writer.commit());
  return sync_folder(options_.folder);
}

Status SessionStore::erase(const Hold& hold) {
  CHECK(hold.store_ == this);
  const std::string path = path_of(hold.key_);
  const std::string name(parts_of(hold.key_).name);
  if (!file_exists(path)) return no_session(name);
  if (!remove_file(path)) {
    return told(name, fail(Code::internal, "{}: cannot be removed", path), "cannot be removed");
  }
  TRY(told(name, sync_folder(options_.folder), "cannot be removed for good"));
  const Lock lock(mutex_);
  if (const auto found = entries_.find(hold.key_); found != entries_.end()) entries_.erase(found);
  return {};
}

SessionInfo SessionStore::info_of(std::string_view key, const Entry& entry) {
  const auto [user, name] = parts_of(key);
  return {std::string(user), std::string(name), *entry.model,   entry.created,
          entry.updated,     entry.n_messages,  entry.n_tokens, entry.adapters};
}

void SessionStore::erase_before(int64_t unix_s,
                                const std::function<void(const SessionInfo&)>& removed) {
  for (const SessionInfo& info : list_all()) {
    if (info.updated >= unix_s) continue;
    const Result<Hold> held = hold(info.user, info.name);
    if (!held) continue;
    const auto now = find(info.user, info.name);
    if (now && now->updated < unix_s && erase(*held).ok()) removed(info);
  }
}

std::optional<SessionInfo> SessionStore::find(const std::string& user,
                                              std::string_view name) const {
  const Lock lock(mutex_);
  const auto at = entries_.find(key_of(user, name));
  if (at == entries_.end()) return std::nullopt;
  return info_of(at->first, at->second);
}

// The index is sorted by user and name, so a page of it is a range.
std::vector<SessionInfo> SessionStore::list(const std::string& user, const Which& which) const {
  const auto has_adapter = [&which](const Entry& entry) {
    return *entry.model == which.adapter ||
           std::ranges::any_of(entry.adapters, [&which](const SessionAdapter& adapter) {
             return adapter.name == which.adapter;
           });
  };
  std::vector<SessionInfo> infos;
  const Lock lock(mutex_);
  for (auto at = entries_.upper_bound(key_of(user, which.after)); at != entries_.end(); ++at) {
    if (parts_of(at->first).user != user || infos.size() == which.limit) break;
    const Entry& entry = at->second;
    if (entry.updated < which.since_s || entry.updated >= which.until_s) continue;
    if (!which.model.empty() && *entry.model != which.model) continue;
    if (!which.adapter.empty() && !has_adapter(entry)) continue;
    infos.push_back(info_of(at->first, entry));
  }
  return infos;
}

std::vector<SessionInfo> SessionStore::list_all() const {
  std::vector<SessionInfo> infos;
  const Lock lock(mutex_);
  for (const auto& [key, entry] : entries_) infos.push_back(info_of(key, entry));
  return infos;
}

SessionStore::Stats SessionStore::stats() const {
  const Lock lock(mutex_);
  return {entries_.size(), n_ignored_};
}

}  // namespace ruv
