// /v1/vector_stores/{id}/file_batches, as OpenAI's API has it: files that are added together. They
// are in the store when the answer comes, so a batch is complete from its first answer on, and
// there is nothing left to cancel.
#include "net/memory/files_job.h"
#include "net/memory/memory_routes.h"
#include "net/openai/query.h"

namespace ruv {
namespace {

// A batch of a store. Fails: 404.
ApiResult<CatalogBatch> find_batch(const StoreOwner& owner, const std::string& store,
                                   const std::string& id) {
  const CatalogStore found = TRY(find_store(owner, store));
  const auto batch = TRY(remembered(owner.memory, owner.memory.catalog().batch(found.id, id)));
  if (batch) return *batch;
  return tl::unexpected(ApiError(404, "invalid_request_error",
                                 fmt::format("vector store '{}' has no file batch '{}'",
                                             shortened(store, 100), shortened(id, 100)),
                                 "batch_id", "not_found"));
}

Json batch_json(const std::string& store, const CatalogBatch& batch) {
  const int64_t n = batch.n_files;
  return {{"id", batch.id},
          {"object", "vector_store.files_batch"},
          {"created_at", batch.created_s},
          {"vector_store_id", store},
          {"status", "completed"},
          {"file_counts",
           {{"in_progress", 0}, {"completed", n}, {"failed", 0}, {"cancelled", 0}, {"total", n}}}};
}

// Either `file_ids` with attributes for all, or `files`, each with its own.
ApiResult<std::vector<FileToAdd>> read_batch_files(const StoreOwner& owner, const Json& body) {
  const Json* files = find_field(body, "files");
  if (files == nullptr) {
    if (find_field(body, "file_ids") == nullptr) return missing_field("file_ids");
    return read_new_files(owner, body, TRY(read_notes(body, "attributes", true)));
  }
  for (const char* other : {"file_ids", "attributes", "chunking_strategy"}) {
    if (find_field(body, other) == nullptr) continue;
    return tl::unexpected(
        bad_request(other, fmt::format("'{}' has no meaning beside 'files'", other)));
  }
  if (!files->is_array()) return wrong_type("files", "an array of objects", *files);
  constexpr FieldRow kRows[] = {{"file_id", kHonoured, ""},
                                {"attributes", kHonoured, ""},
                                {"chunking_strategy", kHonoured, ""}};
  Json ids = Json::array();
  for (const Json& one : files->elements()) {
    if (!one.is_object()) return wrong_type("files", "an array of objects", *files);
    TRY(check_fields(one, kRows, "files[]."));
    ids.push_back(TRY(read_text(one, "file_id")));
  }
  // All together have the limits of one request.
  std::vector<FileToAdd> added = TRY(read_new_files(owner, {{"file_ids", ids}}, Json::object()));
  if (std::ssize(added) != std::ssize(*files)) {
    return tl::unexpected(bad_request("files", "'files' names a file twice"));
  }
  for (size_t i = 0; i < added.size(); ++i) {
    added[i].attributes = TRY(read_notes((*files)[i], "attributes", true));
    added[i].plan = TRY(read_chunk_plan((*files)[i]));
  }
  return added;
}

// POST /v1/vector_stores/{id}/file_batches.
ApiResult<void> add_batch(ServedModels& models, const ServerCall& http,
                          const std::shared_ptr<Reply>& reply) {
  const StoreOwner owner = TRY(owner_of(http.server, http.http));
  ServedMemory& memory = owner.memory;
  const CatalogStore store = TRY(find_store(owner, http.http.path_tail));
  std::vector<FileToAdd> files = TRY(read_batch_files(owner, http.body));
  if (files.empty()) {
    return tl::unexpected(bad_request("file_ids", "a batch has at least one file"));
  }
  const CatalogBatch batch{
      .id = memory.new_id("vsfb_"), .created_s = owner.now_s, .n_files = std::ssize(files)};
  std::vector<std::string> ids;
  for (const FileToAdd& one : files) ids.push_back(one.file.id);
  const auto end = [&memory, store = store.id, batch, ids]() -> ApiResult<Json> {
    TRY(remembered(memory, memory.catalog().add_batch(store, batch, ids)));
    return batch_json(store, batch);
  };
  return add_files({models, memory, owner.tenant, reply, owner.http.id}, owner,
                   {store.id, std::move(files), {}, {}, end});
}

// GET /v1/vector_stores/{id}/file_batches/{batch_id}.
ApiResult<Json> show_batch(const StoreOwner& owner) {
  TRY(check_no_query(owner.http));
  const std::string& store = owner.http.path_first;
  return batch_json(store, TRY(find_batch(owner, store, owner.http.path_tail)));
}

// GET /v1/vector_stores/{id}/file_batches/{batch_id}/files: those that the store still has.
ApiResult<Json> list_batch_files(const StoreOwner& owner) {
  const std::string& store = owner.http.path_first;
  return entries_list(owner, store, TRY(find_batch(owner, store, owner.http.path_tail)).id);
}

}  // namespace

std::vector<Route> file_batch_routes(ServedModels& models) {
  constexpr const char* kBatch = "/v1/vector_stores/{id}/file_batches/{batch_id}";
  std::vector<Route> routes{
      store_route(models, "/v1/vector_stores/{id}/file_batches", file_batch_fields(), add_batch),
      owner_route(models, "GET", "/v1/vector_stores/{id}/file_batches/{batch_id}/files",
                  list_batch_files),
      owner_route(models, "POST", "/v1/vector_stores/{id}/file_batches/{batch_id}/cancel",
                  show_batch),
      owner_route(models, "GET", kBatch, show_batch)};
  make_store_routes(routes);
  return routes;
}

}  // namespace ruv
