#include "net/memory/memory_routes.h"

#include "net/memory/document_intake.h"
#include "net/memory/memory_context.h"
#include "net/memory/memory_query.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"
#include "net/openai/query.h"

namespace ruv {
namespace {

constexpr int64_t kMostListed = 1000;

// The memory of the tenant that a body names.
ApiResult<MemoryRequest> call_of(ServedModels& models, const ServerCall& call,
                                 const std::shared_ptr<Reply>& reply) {
  ServedMemory* const memory = TRY(memory_of(call.server));
  const std::string user = TRY(read_terms(call.body)).tenant;
  return MemoryRequest{models, *memory, TRY(tenant_of(call.http, user)), reply, call.http.id};
}

// Without the field it is what the name ends with; a text under the name of a PDF file is its text.
ApiResult<DocumentForm> read_form_word(const Json& body, std::string_view name) {
  const Json* word = find_field(body, "format");
  if (word == nullptr) {
    const DocumentForm form = form_of_name(name);
    return form == DocumentForm::pdf ? DocumentForm::plain : form;
  }
  if (!word->is_string()) return wrong_type("format", "a string", *word);
  const auto form = document_form_of(word->text());
  if (!form) return tl::unexpected(bad_request("format", "'format': " + form.error().message()));
  return *form;
}

// POST /v1/memory/documents.
ApiResult<void> add_document(ServedModels& models, const ServerCall& http,
                             const std::shared_ptr<Reply>& reply) {
  const MemoryRequest call = TRY(call_of(models, http, reply));
  const Json& body = http.body;
  DocumentToAdd document;
  document.name = TRY(read_text(body, "name"));
  document.text = TRY(read_text(body, "text"));
  document.form = TRY(read_form_word(body, document.name));
  document.metadata = TRY(read_object(body, "metadata"));
  ChunkOptions& chunking = document.chunking;
  chunking.most_bytes = TRY(read_integer(body, "chunk_bytes", chunking.most_bytes, {16, 65'536}));
  const int64_t usual = std::min(chunking.overlap_bytes, chunking.most_bytes / 2 - 1);
  chunking.overlap_bytes =
      TRY(read_integer(body, "overlap_bytes", usual, {0, chunking.most_bytes / 2 - 1}));
  const std::string folder = TRY(remembered(call.memory, call.memory.tenant_folder(call.tenant)));
  const auto writer = std::make_shared<DocumentIntake>(call.memory, folder);
  const Json about = {
      {"object", "memory.document"}, {"name", document.name}, {"metadata", document.metadata}};
  const auto answer = [writer, about](EmbeddedTexts embedded) -> ApiResult<HttpResponse> {
    const int64_t n_tokens = embedded.n_tokens;
    const AddedDocument added = TRY(writer->write(std::move(embedded))).front();
    Json json = about;
    json["n_bytes"] = added.n_bytes;
    json["n_chunks"] = added.n_chunks;
    json["n_embedded"] = added.n_embedded;
    json["is_unchanged"] = added.is_unchanged;
    json["usage"] = {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}};
    return HttpResponse{.body = json.dump()};
  };
  const uint64_t n_bytes = document.text.size();
  embed_and_answer(call, n_bytes,
                   [writer, answer, &memory = call.memory, document = std::move(document)](
                       const OpenAiService& service) -> ApiResult<EmbedJob> {
                     return EmbedJob{.texts = TRY(writer->prepare(service, {document})),
                                     .purpose = TextPurpose::document,
                                     .workers = &memory.changes(),
                                     .answer = answer};
                   });
  return {};
}

// POST /v1/memory/search.
ApiResult<void> search_memory(ServedModels& models, const ServerCall& http,
                              const std::shared_ptr<Reply>& reply) {
  const MemoryRequest call = TRY(call_of(models, http, reply));
  StoreSearch search = TRY(read_search(http.body));
  const std::string folder = TRY(remembered(call.memory, call.memory.tenant_folder(call.tenant)));
  return search_and_answer(
      call, folder, std::move(search),
      [](const StoreFindings& findings) -> ApiResult<HttpResponse> {
        Json data = Json::array();
        for (const FoundChunk& chunk : findings.chunks) {
          data.push_back(found_json(chunk));
        }
        Json json = {{"object", "memory.search"}};
        json["data"] = std::move(data);
        if (findings.were_remembered) json["remembered"] = true;
        json["usage"] = {{"prompt_tokens", findings.n_tokens}, {"total_tokens", findings.n_tokens}};
        return HttpResponse{.body = json.dump()};
      });
}

// POST /v1/memory/context.
ApiResult<void> make_context(ServedModels& models, const ServerCall& http,
                             const std::shared_ptr<Reply>& reply) {
  const MemoryRequest call = TRY(call_of(models, http, reply));
  StoreSearch search = TRY(read_search(http.body));
  const ContextLimits limits = TRY(read_context_limits(http.body));
  const std::string folder = TRY(remembered(call.memory, call.memory.tenant_folder(call.tenant)));
  if (limits.max_tokens == 0) {
    return search_and_answer(call, folder, std::move(search),
                             [limits](const StoreFindings& findings) {
                               return context_answer(findings, limits, nullptr);
                             });
  }
  // The model that counts is loaded first, and stays for as long as the answer needs it.
  const auto shared = std::make_shared<const StoreSearch>(std::move(search));
  models.with_model(limits.model, 0, [call, folder, shared, limits](ApiResult<ServiceLease> lease) {
    run_caught(call.reply, [&] {
      if (!lease) return send_response(call.reply, error_response(lease.error()));
      const auto begun = search_and_answer(
          call, folder, *shared, [limits, counting = *lease](const StoreFindings& findings) {
            return context_answer(findings, limits, counting->text);
          });
      if (!begun) send_response(call.reply, error_response(begun.error()));
    });
  });
  return {};
}

// What follows '?' in paths of lists.
struct MemoryListQuery {
  std::string user;
  std::string after;
  int64_t limit = 100;
};

// Fails: 400, naming the parameter.
ApiResult<MemoryListQuery> read_list_query(const HttpRequest& http, bool is_list) {
  MemoryListQuery query;
  for (const QueryParameter& parameter : query_parameters(http.query)) {
    if (parameter.name == "user") {
      query.user = TRY(read_terms({{"user", parameter.value}})).tenant;
    } else if (is_list && parameter.name == "after") {
      query.after = parameter.value;
    } else if (is_list && parameter.name == "limit") {
      query.limit = TRY(query_integer(parameter, {1, kMostListed}));
    } else {
      return tl::unexpected(
          unknown_parameter(parameter.name, is_list ? "user, after or limit" : "user"));
    }
  }
  query.user = TRY(tenant_of(http, query.user));
  return query;
}

// GET /v1/memory/documents. One more than asked for says whether there are more.
ApiResult<Json> list_documents(ServedMemory& memory, const HttpRequest& http) {
  const MemoryListQuery query = TRY(read_list_query(http, true));
  const std::string folder = TRY(remembered(memory, memory.tenant_folder(query.user)));
  const StoreShelf::Lease store = TRY(remembered(memory, memory.shelf().find(folder)));
  std::vector<StoredDocument> documents;
  if (store != nullptr) {
    documents = TRY(remembered(memory, store->list(query.after, query.limit + 1)));
  }
  const bool has_more = std::ssize(documents) > query.limit;
  if (has_more) documents.pop_back();
  Json data = Json::array();
  for (const StoredDocument& one : documents) {
    data.push_back({{"object", "memory.document"},
                    {"name", one.name},
                    {"n_bytes", one.n_bytes},
                    {"n_chunks", one.n_chunks},
                    {"added_at", one.added_s},
                    {"metadata", one.metadata}});
  }
  return Json{{"object", "list"}, {"data", std::move(data)}, {"has_more", has_more}};
}

// DELETE /v1/memory/documents/{name}.
ApiResult<Json> delete_document(ServedMemory& memory, const HttpRequest& http) {
  const MemoryListQuery query = TRY(read_list_query(http, false));
  const std::string folder = TRY(remembered(memory, memory.tenant_folder(query.user)));
  const StoreShelf::Lease store = TRY(remembered(memory, memory.shelf().find(folder)));
  WorkerPool pool(1);
  const bool removed =
      store != nullptr && TRY(remembered(memory, store->remove(http.path_tail, pool)));
  if (!removed) {
    return tl::unexpected(
        ApiError(404, "invalid_request_error",
                 fmt::format("no document '{}' is in memory", shortened(http.path_tail, 100)),
                 "name", "document_not_found"));
  }
  return Json{{"object", "memory.document.deleted"}, {"name", http.path_tail}, {"deleted", true}};
}

// GET /v1/memory/stats; zeros where nothing was added yet.
ApiResult<Json> memory_stats(ServedMemory& memory, const HttpRequest& http) {
  const MemoryListQuery query = TRY(read_list_query(http, false));
  const std::string folder = TRY(remembered(memory, memory.tenant_folder(query.user)));
  const StoreShelf::Lease store = TRY(remembered(memory, memory.shelf().find(folder)));
  MemoryStore::Stats stats;
  if (store != nullptr) stats = TRY(remembered(memory, store->stats()));
  return Json{{"object", "memory.stats"},     {"embedder", stats.embedder},
              {"n_dims", stats.n_dims},       {"n_documents", stats.n_documents},
              {"n_chunks", stats.n_chunks},   {"n_vectors", stats.n_vectors},
              {"n_edges", stats.n_edges},     {"n_text_bytes", stats.n_text_bytes},
              {"n_damaged", stats.n_damaged}, {"n_memory_bytes", stats.n_bytes}};
}

using MemoryAnswer = ApiResult<Json> (*)(ServedMemory&, const HttpRequest&);

// A route without a body, whose answer needs no model.
Route shown_route(ServedModels& models, const char* method, const char* path, MemoryAnswer answer) {
  return simple_route(method, path, [&models, answer](const HttpRequest& http) {
    const auto memory = memory_of(models.parts());
    if (!memory) return error_response(memory.error());
    const ApiResult<Json> json = answer(**memory, http);
    if (!json) return error_response(json.error());
    return HttpResponse{.body = json->dump()};
  });
}

using MemoryAction = ApiResult<void> (*)(ServedModels&, const ServerCall&,
                                         const std::shared_ptr<Reply>&);

// A route with a body.
Route changing_route(ServedModels& models, const char* path, const BodyTable& table,
                     MemoryAction action) {
  return server_route(
      models, "POST", path, table,
      [&models, action](const ServerCall& call, const std::shared_ptr<Reply>& reply) {
        return action(models, call, reply);
      });
}

}  // namespace

std::vector<Route> memory_routes(ServedModels& models) {
  std::vector<Route> routes{
      changing_route(models, "/v1/memory/documents", memory_document_fields(), add_document),
      changing_route(models, "/v1/memory/search", memory_search_fields(), search_memory),
      changing_route(models, "/v1/memory/context", memory_context_fields(), make_context),
      shown_route(models, "GET", "/v1/memory/documents", list_documents),
      shown_route(models, "DELETE", "/v1/memory/documents/{name}", delete_document),
      shown_route(models, "GET", "/v1/memory/stats", memory_stats)};
  for (Route& route : routes) route.scope = KeyScope::sessions;
  return routes;
}

}  // namespace ruv
