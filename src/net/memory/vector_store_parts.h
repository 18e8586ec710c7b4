// What the routes of files and of vector stores share: the tenant that asks, pages of lists, and
// the objects that answers have, as OpenAI's API has them.
#pragma once

#include <string>

#include "net/memory/document_intake.h"
#include "net/memory/memory_query.h"
#include "net/openai/api_route.h"

namespace ruv {

// A request to the files and vector stores of one tenant.
struct StoreOwner {
  ServedMemory& memory;
  std::string tenant;  // its name
  int64_t number = 0;  // its number in the catalog
  int64_t now_s = 0;   // seconds since 1970
  const HttpRequest& http;
};
// Files of the tenant that have expired are deleted first. Fails: 400 memory_off, as
// delete_file_of.
ApiResult<StoreOwner> owner_of(const ServerParts& server, const HttpRequest& http);

// A store that is there; one that has expired is deleted. Fails: 404.
ApiResult<CatalogStore> find_store(const StoreOwner& owner, const std::string& id);
// The same of a file, and of a file in a store.
ApiResult<CatalogFile> find_file(const StoreOwner& owner, const std::string& id);
ApiResult<CatalogEntry> find_entry(const StoreOwner& owner, const std::string& store,
                                   const std::string& file);
// With all that is in it. False: it was not there.
ApiResult<bool> delete_store(const StoreOwner& owner, const std::string& id);
// A file, and its chunks in all stores, which go first: if that fails, it is still there and can be
// deleted again.
ApiResult<void> delete_file_of(const StoreOwner& owner, const std::string& id);
// A file's chunks are not found any more. False: the store did not have it.
ApiResult<bool> remove_from_store(const StoreOwner& owner, const std::string& store,
                                  const std::string& file);

// The query of a list: limit (20), order ("desc"), after, before; others are given to `other`,
// which says whether it knows them. Fails: 400, naming the parameter.
using TakeParameter = std::function<ApiResult<bool>(const QueryParameter&)>;
ApiResult<CatalogPage> read_page(const HttpRequest& http, const TakeParameter& other = {});
// The list that a page was asked of with one more than its limit.
Json list_json(std::vector<Json> items, int64_t limit);

// Up to 16 members: texts of at most 512 characters; `has_values`: numbers and booleans, too.
ApiResult<Json> read_notes(const Json& body, const char* field, bool has_values);
// How a file is cut, of "chunking_strategy".
struct ChunkPlan {
  int64_t chunk_tokens = 0, overlap_tokens = 0;  // 0 and 0: "auto"
};
ApiResult<ChunkPlan> read_chunk_plan(const Json& body);

// A file on its way into a store.
struct FileToAdd {
  CatalogFile file;
  Json attributes = Json::object();
  ChunkPlan plan;
};
// As a document, whose name is the file's id. Fails: as the catalog.
ApiResult<DocumentToAdd> document_of(const StoreOwner& owner, const FileToAdd& added);

// What a store has of a file beside its entry.
ApiResult<Json> attributes_of(const StoreOwner& owner, const std::string& store,
                              const std::string& file);
// The list of a store's files that the request's query asks for; of a batch alone, unless that is
// empty. All files here are complete: of another status there are none.
ApiResult<Json> entries_list(const StoreOwner& owner, const std::string& store,
                             const std::string& batch);

// A route without a body, and one with a body.
using OwnerAnswer = ApiResult<Json> (*)(const StoreOwner&);
Route owner_route(ServedModels& models, const char* method, const char* path, OwnerAnswer answer);
using StoreAction = ApiResult<void> (*)(ServedModels&, const ServerCall&,
                                        const std::shared_ptr<Reply>&);
Route store_route(ServedModels& models, const char* path, const BodyTable& table,
                  StoreAction action);
// Gives them the scope of sessions, and last parts without slashes.
void make_store_routes(std::vector<Route>& routes);

// The objects "file", "vector_store" and "vector_store.file".
Json file_json(const CatalogFile& file);
Json store_json(const CatalogStore& store, int64_t now_s);
Json entry_json(const std::string& store, const CatalogEntry& entry, const Json& attributes);

}  // namespace ruv
