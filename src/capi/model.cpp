// Models, their tokens, and servers of them.
#include <dlfcn.h>

#include <filesystem>

#include "base/file.h"
#include "capi/handles.h"

namespace ruv {
namespace {

// The model that comes with the library: in share/ruvllm beside the library's folder, or in models
// or beside it, as packages for other languages have it.
CallResult<std::string> model_of_library() {
  constexpr const char* kFile = "ruvltra-nano-q8_0.gguf";
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(&ruvllm_version), &library) != 0) {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::canonical(library.dli_fname, error);
    const std::filesystem::path folder = file.parent_path();
    for (const std::filesystem::path& place : {folder.parent_path() / "share" / "ruvllm" / kFile,
                                               folder / "models" / kFile, folder / kFile}) {
      if (file_exists(place.string())) return place.string();
    }
  }
  return tl::unexpected<CallError>(
      Status(Code::not_found, "the built-in model is not beside the library: give a path"));
}

// Null as path: the model of the library.
CallResult<ruvllm_status> load(const char* path, const char* options, ruvllm_progress progress,
                               void* user, ruvllm_model** model) {
  TRY(check_given({{"model", model}}));
  *model = nullptr;
  const LocalModelOptions call = TRY(read_load_options(options));
  const std::string file = path != nullptr ? std::string(path) : TRY(model_of_library());
  std::function<void(double)> tell;
  if (progress != nullptr) tell = [progress, user](double share) { progress(share, user); };
  *model = new_handle<ruvllm_model>(TRY(LocalModel::load(file, call, std::move(tell))));
  return RUVLLM_OK;
}

// Bits without a meaning are refused, so that they can get one later.
CallResult<void> check_flags(uint32_t flags, uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return tl::unexpected<CallError>(
      bad_request("flags", fmt::format("'flags' has unknown bits: {:#x}", flags & ~known)));
}

// No bytes need no pointer.
CallResult<ruvllm_status> tokenize_text(const ruvllm_model* model, const char* text, size_t size,
                                        uint32_t flags, ruvllm_tokens** tokens) {
  TRY(check_given({{"tokens", tokens}}));
  *tokens = nullptr;
  TRY(check_given({{"model", model}, {"text", size == 0 ? "" : text}}));
  TRY(check_flags(flags, RUVLLM_ADD_SPECIAL | RUVLLM_PARSE_SPECIAL));
  const EncodeOptions options{.add_special = (flags & RUVLLM_ADD_SPECIAL) != 0,
                              .parse_special = (flags & RUVLLM_PARSE_SPECIAL) != 0};
  const TokenizedText encoded =
      TRY(model->inner->text().encode(std::string_view(size == 0 ? "" : text, size), options));
  *tokens = new_handle<ruvllm_tokens>(encoded.ids());
  return RUVLLM_OK;
}

// Bytes of unfinished characters become U+FFFD, as C strings are UTF-8 here.
CallResult<ruvllm_status> text_of_tokens(const ruvllm_model* model, const int32_t* ids, size_t size,
                                         uint32_t flags, ruvllm_text** text) {
  TRY(check_given({{"text", text}}));
  *text = nullptr;
  TRY(check_given({{"model", model}, {"ids", size == 0 ? "" : static_cast<const void*>(ids)}}));
  TRY(check_flags(flags, RUVLLM_WITH_SPECIAL));
  const ModelText& of_model = model->inner->text();
  const std::string bytes =
      TRY(of_model.text_of(std::span(ids, size), (flags & RUVLLM_WITH_SPECIAL) != 0));
  *text = new_handle<ruvllm_text>(of_model.valid_text(bytes));
  return RUVLLM_OK;
}

// The server keeps the model, so that the handle may be freed first.
CallResult<ruvllm_status> serve(ruvllm_model* model, const char* options, ruvllm_server** server) {
  TRY(check_given({{"server", server}}));
  *server = nullptr;
  TRY(check_given({{"model", model}}));
  ServerOptions call = TRY(read_server_options(options));
  *server =
      new_handle<ruvllm_server>(TRY(LocalServer::start(model->inner->source(), std::move(call))));
  return RUVLLM_OK;
}

}  // namespace
}  // namespace ruv

extern "C" {

ruvllm_status ruvllm_model_load(const char* path, const char* options, ruvllm_progress progress,
                                void* user, ruvllm_model** model, ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::load(path, options, progress, user, model); });
}

void ruvllm_model_free(ruvllm_model* model) { delete model; }

ruvllm_status ruvllm_model_info(const ruvllm_model* model, ruvllm_text** json,
                                ruvllm_error** error) {
  return ruv::guarded(error, [&]() -> ruv::CallResult<ruvllm_status> {
    TRY(ruv::check_given({{"json", json}}));
    *json = nullptr;
    TRY(ruv::check_given({{"model", model}}));
    *json = ruv::new_handle<ruvllm_text>(model->inner->info());
    return RUVLLM_OK;
  });
}

ruvllm_status ruvllm_tokenize(const ruvllm_model* model, const char* text, size_t size,
                              uint32_t flags, ruvllm_tokens** tokens, ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::tokenize_text(model, text, size, flags, tokens); });
}

ruvllm_status ruvllm_detokenize(const ruvllm_model* model, const int32_t* ids, size_t size,
                                uint32_t flags, ruvllm_text** text, ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::text_of_tokens(model, ids, size, flags, text); });
}

ruvllm_status ruvllm_server_start(ruvllm_model* model, const char* options, ruvllm_server** server,
                                  ruvllm_error** error) {
  return ruv::guarded(error, [&] { return ruv::serve(model, options, server); });
}

uint16_t ruvllm_server_port(const ruvllm_server* server) {
  return server == nullptr ? 0 : server->inner->port();
}

void ruvllm_server_stop(ruvllm_server* server) { delete server; }

}  // extern "C"
