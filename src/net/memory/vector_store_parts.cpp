#include "net/memory/vector_store_parts.h"

#include "net/openai/generate_request.h"
#include "net/openai/query.h"

namespace ruv {
namespace {

constexpr size_t kMostNotes = 16;
constexpr size_t kMostNoteNameBytes = 64;
constexpr size_t kMostNoteBytes = 2048;  // 512 characters, however long each is
// Bytes that a token has at most in mean: chunks begin with this many, and are made shorter until
// they have as few tokens as asked for.
constexpr int64_t kBytesPerToken = 6;

ApiError nothing_of(const char* kind, std::string_view id) {
  return {404, "invalid_request_error", fmt::format("no {} '{}' is here", kind, shortened(id, 100)),
          "id", "not_found"};
}

// A time that is not set is null on the wire.
Json time_or_null(int64_t seconds) { return seconds == 0 ? Json() : Json(seconds); }

// As a client gave it.
Json plan_json(int64_t chunk_tokens, int64_t overlap_tokens) {
  if (chunk_tokens == 0) return {{"type", "auto"}};
  Json plan = {{"type", "static"}};
  plan["static"] = {{"max_chunk_size_tokens", chunk_tokens},
                    {"chunk_overlap_tokens", overlap_tokens}};
  return plan;
}

// A file is in a store when it is complete, so that no other count ever differs from zero.
Json counts_json(int64_t n) {
  return {{"in_progress", 0}, {"completed", n}, {"failed", 0}, {"cancelled", 0}, {"total", n}};
}

}  // namespace

// OpenAI's requests name no user, so that the key alone says whose they are.
ApiResult<StoreOwner> owner_of(const ServerParts& server, const HttpRequest& http) {
  ServedMemory* const memory = TRY(memory_of(server));
  const std::string tenant = TRY(tenant_of(http, ""));
  const int64_t number = TRY(remembered(*memory, memory->catalog().tenant(tenant)));
  StoreOwner owner{*memory, tenant, number, server.unix_time(), http};
  for (const std::string& id :
       TRY(remembered(*memory, memory->catalog().expired_files(number, owner.now_s)))) {
    TRY(delete_file_of(owner, id));
  }
  return owner;
}

ApiResult<void> delete_file_of(const StoreOwner& owner, const std::string& id) {
  ServedMemory& memory = owner.memory;
  for (const std::string& store : TRY(remembered(memory, memory.catalog().stores_of(id)))) {
    TRY(remove_from_store(owner, store, id));
  }
  TRY(remembered(memory, memory.catalog().remove_file(owner.number, id)));
  return {};
}

ApiResult<bool> delete_store(const StoreOwner& owner, const std::string& id) {
  ServedMemory& memory = owner.memory;
  // Its row goes first: without it, a start removes what files are left.
  const bool was_there = TRY(remembered(memory, memory.catalog().remove_store(owner.number, id)));
  if (was_there) memory.shelf().drop(memory.store_folder(id));
  return was_there;
}

ApiResult<CatalogStore> find_store(const StoreOwner& owner, const std::string& id) {
  auto found = TRY(remembered(owner.memory, owner.memory.catalog().store(owner.number, id)));
  if (found && found->expires_days > 0 && found->expires_s() <= owner.now_s) {
    TRY(delete_store(owner, id));
    found.reset();
  }
  if (!found) return tl::unexpected(nothing_of("vector store", id));
  return std::move(*found);
}

ApiResult<CatalogFile> find_file(const StoreOwner& owner, const std::string& id) {
  auto found = TRY(remembered(owner.memory, owner.memory.catalog().file(owner.number, id)));
  if (!found) return tl::unexpected(nothing_of("file", id));
  return std::move(*found);
}

ApiResult<CatalogEntry> find_entry(const StoreOwner& owner, const std::string& store,
                                   const std::string& file) {
  TRY(find_store(owner, store));
  auto found = TRY(remembered(owner.memory, owner.memory.catalog().entry(store, file)));
  if (!found) return tl::unexpected(nothing_of("file", file));
  return std::move(*found);
}

// The entry first, as results without one are not shown.
ApiResult<bool> remove_from_store(const StoreOwner& owner, const std::string& store,
                                  const std::string& file) {
  ServedMemory& memory = owner.memory;
  const bool was_there = TRY(remembered(memory, memory.catalog().remove_entry(store, file)));
  const StoreShelf::Lease lease =
      TRY(remembered(memory, memory.shelf().find(memory.store_folder(store))));
  if (lease == nullptr) return was_there;
  WorkerPool pool(1);
  TRY(remembered(memory, lease->remove(file, pool)));
  return was_there;
}

ApiResult<CatalogPage> read_page(const HttpRequest& http, const TakeParameter& other) {
  CatalogPage page;
  for (const QueryParameter& parameter : query_parameters(http.query)) {
    const auto& [name, value] = parameter;
    if (name == "limit") {
      page.limit = TRY(query_integer(parameter, {1, 100}));
    } else if (name == "order" && (value == "asc" || value == "desc")) {
      page.ascending = value == "asc";
    } else if (name == "order") {
      return tl::unexpected(bad_request("order", "'order' must be asc or desc"));
    } else if (name == "after") {
      page.after = value;
    } else if (name == "before") {
      page.before = value;
    } else if (!other || !TRY(other(parameter))) {
      return tl::unexpected(unknown_parameter(name, "limit, order, after or before"));
    }
  }
  return page;
}

Json list_json(std::vector<Json> items, int64_t limit) {
  // The one more that was asked for says only that it is there.
  const bool has_more = std::ssize(items) > limit;
  if (has_more) items.pop_back();
  Json first, last;
  if (!items.empty()) {
    first = items.front()["id"];
    last = items.back()["id"];
  }
  Json data = Json::array();
  for (Json& one : items) data.push_back(std::move(one));
  Json list = {{"object", "list"}};
  list["data"] = std::move(data);
  list["first_id"] = std::move(first);
  list["last_id"] = std::move(last);
  list["has_more"] = has_more;
  return list;
}

// Names of members are quoted as far as they may be long.
ApiResult<Json> read_notes(const Json& body, const char* field, bool has_values) {
  Json notes = TRY(read_object(body, field));
  if (notes.size() > kMostNotes) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' has {} members, at most {} are kept",
                                                         field, notes.size(), kMostNotes)));
  }
  for (const auto& [name, value] : notes.items()) {
    const std::string where = fmt::format("{}.{}", field, shortened(name, kMostNoteNameBytes));
    const bool is_value = has_values && (value.is_number() || value.is_boolean());
    if (!value.is_string() && !is_value) {
      return wrong_type(where, has_values ? "a string, a number or a boolean" : "a string", value);
    }
    if (name.size() > kMostNoteNameBytes ||
        (value.is_string() && value.text().size() > kMostNoteBytes)) {
      return tl::unexpected(
          bad_request(field, fmt::format("'{}' has more than {} bytes of name or {} of text", where,
                                         kMostNoteNameBytes, kMostNoteBytes)));
    }
  }
  return notes;
}

ApiResult<ChunkPlan> read_chunk_plan(const Json& body) {
  constexpr const char* kField = "chunking_strategy";
  const Json strategy = TRY(read_object(body, kField));
  if (strategy.empty()) return ChunkPlan();
  constexpr FieldRow kRows[] = {{"type", kHonoured, ""}, {"static", kHonoured, ""}};
  TRY(check_fields(strategy, kRows, "chunking_strategy."));
  const Json* type = find_field(strategy, "type");
  const Json* fixed = find_field(strategy, "static");
  if (type != nullptr && *type == "auto" && fixed == nullptr) return ChunkPlan();
  if (type == nullptr || *type != "static" || fixed == nullptr || !fixed->is_object()) {
    return tl::unexpected(bad_request(kField,
                                      "'chunking_strategy' must be {\"type\": \"auto\"} or "
                                      "{\"type\": \"static\", \"static\": …}"));
  }
  constexpr FieldRow kFixedRows[] = {{"max_chunk_size_tokens", kHonoured, ""},
                                     {"chunk_overlap_tokens", kHonoured, ""}};
  TRY(check_fields(*fixed, kFixedRows, "chunking_strategy.static."));
  ChunkPlan plan;
  plan.chunk_tokens = TRY(read_integer(*fixed, "max_chunk_size_tokens", 0, {100, 4096}));
  if (plan.chunk_tokens == 0) {
    return missing_field("chunking_strategy.static.max_chunk_size_tokens");
  }
  plan.overlap_tokens =
      TRY(read_integer(*fixed, "chunk_overlap_tokens", 0, {0, plan.chunk_tokens / 2}));
  return plan;
}

ApiResult<DocumentToAdd> document_of(const StoreOwner& owner, const FileToAdd& added) {
  DocumentToAdd document;
  document.name = added.file.id;
  document.text =
      TRY(remembered(owner.memory, owner.memory.catalog().content(owner.number, added.file.id)));
  document.metadata = added.attributes;
  document.form = form_of_name(added.file.name);
  document.chunk_tokens = added.plan.chunk_tokens;
  if (added.plan.chunk_tokens > 0) {
    ChunkOptions& chunking = document.chunking;
    chunking.most_bytes = added.plan.chunk_tokens * kBytesPerToken;
    chunking.overlap_bytes =
        std::min(added.plan.overlap_tokens * kBytesPerToken, chunking.most_bytes / 2 - 1);
  }
  return document;
}

Json file_json(const CatalogFile& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.n_bytes},
          {"created_at", file.created_s},
          {"expires_at", time_or_null(file.expires_s)},
          {"filename", file.name},
          {"purpose", file.purpose},
          {"status", "processed"}};
}

Json store_json(const CatalogStore& store, int64_t now_s) {
  Json json = {
      {"id", store.id},
      {"object", "vector_store"},
      {"created_at", store.created_s},
      {"name", store.name},
      {"description", store.description},
      {"usage_bytes", store.n_bytes},
      {"file_counts", counts_json(store.n_files)},
      {"status", store.expires_days > 0 && store.expires_s() <= now_s ? "expired" : "completed"},
      {"expires_after", nullptr},
      {"expires_at", time_or_null(store.expires_s())},
      {"last_active_at", store.active_s},
      {"metadata", store.metadata}};
  if (store.expires_days > 0) {
    json["expires_after"] = {{"anchor", "last_active_at"}, {"days", store.expires_days}};
  }
  return json;
}

Json entry_json(const std::string& store, const CatalogEntry& entry, const Json& attributes) {
  return {{"id", entry.file},
          {"object", "vector_store.file"},
          {"created_at", entry.created_s},
          {"usage_bytes", entry.n_bytes},
          {"vector_store_id", store},
          {"status", "completed"},
          {"last_error", nullptr},
          {"attributes", attributes},
          {"chunking_strategy", plan_json(entry.chunk_tokens, entry.overlap_tokens)}};
}

ApiResult<Json> attributes_of(const StoreOwner& owner, const std::string& store,
                              const std::string& file) {
  ServedMemory& memory = owner.memory;
  const StoreShelf::Lease lease =
      TRY(remembered(memory, memory.shelf().find(memory.store_folder(store))));
  if (lease == nullptr) return Json::object();
  const auto document = TRY(remembered(memory, lease->find(file)));
  return document ? document->metadata : Json::object();
}

ApiResult<Json> entries_list(const StoreOwner& owner, const std::string& store,
                             const std::string& batch) {
  bool is_shown = true;
  CatalogPage page = TRY(read_page(owner.http, [&](const QueryParameter& other) -> ApiResult<bool> {
    if (other.name != "filter") return false;
    is_shown = other.value == "completed";
    if (is_shown || other.value == "in_progress" || other.value == "failed" ||
        other.value == "cancelled") {
      return true;
    }
    return tl::unexpected(
        bad_request("filter", "'filter' must be completed, in_progress, failed or cancelled"));
  }));
  ++page.limit;
  std::vector<CatalogEntry> entries;
  if (is_shown) {
    entries = TRY(remembered(owner.memory, owner.memory.catalog().entries(store, page, batch)));
  }
  std::vector<Json> items;
  for (const CatalogEntry& entry : entries) {
    items.push_back(entry_json(store, entry, TRY(attributes_of(owner, store, entry.file))));
  }
  return list_json(std::move(items), page.limit - 1);
}

Route owner_route(ServedModels& models, const char* method, const char* path, OwnerAnswer answer) {
  return simple_route(method, path, [&models, answer](const HttpRequest& http) {
    const auto owner = owner_of(models.parts(), http);
    if (!owner) return error_response(owner.error());
    const ApiResult<Json> json = answer(*owner);
    if (!json) return error_response(json.error());
    return HttpResponse{.body = json->dump()};
  });
}

Route store_route(ServedModels& models, const char* path, const BodyTable& table,
                  StoreAction action) {
  return server_route(
      models, "POST", path, table,
      [&models, action](const ServerCall& call, const std::shared_ptr<Reply>& reply) {
        return action(models, call, reply);
      });
}

void make_store_routes(std::vector<Route>& routes) {
  for (Route& route : routes) {
    route.scope = KeyScope::sessions;
    route.is_flat = true;
  }
}

}  // namespace ruv
