// /v1/files: texts that clients send as forms, and put into vector stores.
#include "base/utf8.h"
#include "net/memory/form_parts.h"
#include "net/memory/memory_routes.h"
#include "net/memory/vector_store_parts.h"
#include "net/openai/query.h"

namespace ruv {
namespace {

constexpr size_t kMostFileNameBytes = 512;

// 400, naming a part of the form as other errors name a field.
ApiError wrong_part(const std::string& name, std::string message,
                    std::string code = "invalid_value") {
  return bad_request(name, std::move(message), std::move(code));
}

// What is no text is refused by the ending of its name, as converting it is not done here.
ApiResult<void> check_file_name(std::string_view name) {
  if (name.empty() || name.size() > kMostFileNameBytes || name.find('\0') != name.npos) {
    return tl::unexpected(wrong_part(
        "file", fmt::format("the file needs a name of 1 to {} bytes", kMostFileNameBytes)));
  }
  for (const std::string_view ending : {".pdf", ".doc", ".docx", ".pptx"}) {
    if (!name.ends_with(ending)) continue;
    return tl::unexpected(wrong_part(
        "file",
        fmt::format("files of {} are not read here: send plain text, Markdown or HTML{}", ending,
                    ending == ".pdf" ? ", or add it with `ruvllm memory add`" : ""),
        "unsupported_file"));
  }
  return {};
}

// Fails: 400, naming the byte. A page of HTML may be in another encoding.
ApiResult<void> check_file_text(std::string_view name, std::string_view text) {
  if (looks_like_pdf(text)) {
    return tl::unexpected(
        wrong_part("file", "PDF files are not read here: send plain text, Markdown or HTML",
                   "unsupported_file"));
  }
  if (form_of_name(name) == DocumentForm::html && text.find('\0') == text.npos) {
    const auto read = read_document(DocumentForm::html, text);
    if (read) return {};
    return tl::unexpected(wrong_part("file", read.error().message(), "unsupported_file"));
  }
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid || text[at] == '\0') {
      return tl::unexpected(wrong_part(
          "file", fmt::format("byte {} of the file is not text in UTF-8", at), "unsupported_file"));
    }
    at += point.size;
  }
  return {};
}

// The fields of the form; each once.
struct FileForm {
  const FormPart* file = nullptr;
  std::string purpose;
  int64_t expires_after_s = 0;
};

// Fails: 400, for a part that is unknown, comes twice or has a wrong value.
ApiResult<void> read_part(const FormPart& part, FileForm& form, bool& has_anchor) {
  if (part.name == "file" && part.is_file && form.file == nullptr) {
    form.file = &part;
  } else if (part.name == "purpose" && form.purpose.empty()) {
    form.purpose = part.content;
    if (form.purpose == "assistants" || form.purpose == "user_data") return {};
    return tl::unexpected(wrong_part("purpose",
                                     "'purpose' must be \"assistants\" or \"user_data\": files are "
                                     "for vector stores only"));
  } else if (part.name == "expires_after[anchor]" && !has_anchor) {
    has_anchor = true;
    if (part.content == "created_at") return {};
    return tl::unexpected(wrong_part(part.name, "'expires_after[anchor]' must be \"created_at\""));
  } else if (part.name == "expires_after[seconds]" && form.expires_after_s == 0) {
    form.expires_after_s =
        TRY(query_integer({part.name, std::string(part.content)}, {3600, 2'592'000}));
  } else {
    return tl::unexpected(wrong_part(
        shortened(part.name, 100),
        fmt::format("'{}' is unknown, given twice or no file; a form has file, purpose and "
                    "expires_after",
                    shortened(part.name, 100)),
        "unknown_field"));
  }
  return {};
}

// Views of the parts, which must outlive it.
ApiResult<FileForm> read_form(const std::vector<FormPart>& parts) {
  FileForm form;
  bool has_anchor = false;
  for (const FormPart& part : parts) TRY(read_part(part, form, has_anchor));
  if (form.file == nullptr) return missing_field("file");
  if (form.purpose.empty()) return missing_field("purpose");
  if (has_anchor == (form.expires_after_s > 0)) return form;
  return tl::unexpected(wrong_part("expires_after", "'expires_after' needs anchor and seconds"));
}

// POST /v1/files.
ApiResult<Json> upload_file(const ServerParts& server, const HttpRequest& http) {
  const StoreOwner owner = TRY(owner_of(server, http));
  if (http.content_type != "multipart/form-data") {
    return tl::unexpected(
        bad_request("", "send the file as multipart/form-data, with the parts file and purpose",
                    "unsupported_content_type"));
  }
  const auto parts = parse_form(http.body, http.boundary);
  if (!parts) return tl::unexpected(api_error(parts.error()));
  const FileForm form = TRY(read_form(*parts));
  TRY(check_file_name(form.file->filename));
  TRY(check_file_text(form.file->filename, form.file->content));
  ServedMemory& memory = owner.memory;
  CatalogFile file;
  file.id = memory.new_id("file-");
  file.name = form.file->filename;
  file.purpose = form.purpose;
  file.created_s = owner.now_s;
  file.n_bytes = std::ssize(form.file->content);
  if (form.expires_after_s > 0) file.expires_s = owner.now_s + form.expires_after_s;
  const int64_t max_bytes = memory.options().max_file_bytes;
  if (!TRY(remembered(
          memory, memory.catalog().add_file(owner.number, file, form.file->content, max_bytes)))) {
    return tl::unexpected(ApiError(
        507, "invalid_request_error",
        fmt::format("the files would have more than {} bytes: delete some, or start the server "
                    "with a higher --memory-files-mib",
                    max_bytes),
        "file", "files_full"));
  }
  return file_json(file);
}

// GET /v1/files.
ApiResult<Json> list_files(const ServerParts& server, const HttpRequest& http) {
  const StoreOwner owner = TRY(owner_of(server, http));
  std::string purpose;
  CatalogPage page = TRY(read_page(http, [&](const QueryParameter& other) -> ApiResult<bool> {
    if (other.name == "purpose") purpose = other.value;
    return other.name == "purpose";
  }));
  ++page.limit;
  std::vector<Json> items;
  for (const CatalogFile& file :
       TRY(remembered(owner.memory, owner.memory.catalog().files(owner.number, page, purpose)))) {
    items.push_back(file_json(file));
  }
  return list_json(std::move(items), page.limit - 1);
}

// GET /v1/files/{id}.
ApiResult<Json> show_file(const ServerParts& server, const HttpRequest& http) {
  const StoreOwner owner = TRY(owner_of(server, http));
  TRY(check_no_query(http));
  return file_json(TRY(find_file(owner, http.path_tail)));
}

// DELETE /v1/files/{id}.
ApiResult<Json> delete_file(const ServerParts& server, const HttpRequest& http) {
  const StoreOwner owner = TRY(owner_of(server, http));
  TRY(check_no_query(http));
  const CatalogFile file = TRY(find_file(owner, http.path_tail));
  TRY(delete_file_of(owner, file.id));
  return Json{{"id", file.id}, {"object", "file"}, {"deleted", true}};
}

// GET /v1/files/{id}/content: the bytes as they came, and as text whatever the file's name says.
HttpResponse file_content(const ServerParts& server, const HttpRequest& http) {
  const auto read = [&]() -> ApiResult<std::string> {
    const StoreOwner owner = TRY(owner_of(server, http));
    TRY(check_no_query(http));
    const CatalogFile file = TRY(find_file(owner, http.path_tail));
    return remembered(owner.memory, owner.memory.catalog().content(owner.number, file.id));
  };
  auto text = read();
  if (!text) return error_response(text.error());
  return {.content_type = "text/plain; charset=utf-8", .body = std::move(*text)};
}

using FileAnswer = ApiResult<Json> (*)(const ServerParts&, const HttpRequest&);

Route file_route(ServedModels& models, const char* method, const char* path, FileAnswer answer) {
  return simple_route(method, path, [&models, answer](const HttpRequest& http) {
    const ApiResult<Json> json = answer(models.parts(), http);
    if (!json) return error_response(json.error());
    return HttpResponse{.body = json->dump()};
  });
}

}  // namespace

std::vector<Route> file_routes(ServedModels& models) {
  Route content = simple_route("GET", "/v1/files/{id}/content", [&models](const HttpRequest& http) {
    return file_content(models.parts(), http);
  });
  content.types = {"text/plain"};
  std::vector<Route> routes{file_route(models, "POST", "/v1/files", upload_file),
                            file_route(models, "GET", "/v1/files", list_files), std::move(content),
                            file_route(models, "GET", "/v1/files/{id}", show_file),
                            file_route(models, "DELETE", "/v1/files/{id}", delete_file)};
  for (Route& route : routes) {
    route.scope = KeyScope::sessions;
    route.is_flat = true;
  }
  return routes;
}

}  // namespace ruv
