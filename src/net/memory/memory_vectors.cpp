#include "net/memory/memory_vectors.h"

#include <algorithm>

#include "memory/model_probe.h"
#include "net/http/router.h"
#include "net/openai/vector_job.h"

namespace ruv {
namespace {

// As `ruvllm memory` names a model, so that stores of both show the same.
std::string described_model(const OpenAiService& service, const EmbedInfo& info) {
  const ModelInfo& model = service.text->info();
  return fmt::format("{}, {}, {} parameters, {}, {} pooling", model.name, model.architecture,
                     model.n_params, model.format, pooling_name(info.pooling));
}

// A longer text is cut to `kept_tokens`; 0: it is not. Fails: 400, naming the place of a text that
// has no tokens or too many.
ApiResult<std::vector<Token>> ids_of_text(const OpenAiService& service, const EmbedInfo& info,
                                          const std::string& text, TextPurpose purpose,
                                          size_t place, int64_t kept_tokens = 0) {
  EmbedPrompt prompt{.max_tokens = kept_tokens};
  const char* const name = purpose == TextPurpose::query ? "query" : "document";
  if (std::ranges::any_of(info.prompts, [&](const auto& one) { return one.first == name; })) {
    prompt.name = name;
  }
  auto ids = service.text->embed_ids(text, prompt);
  if (!ids) return tl::unexpected(api_error(ids.error()));
  const int64_t most = most_embed_tokens(service);
  const char* const field = purpose == TextPurpose::query ? "query" : "text";
  if (ids->empty()) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' gives no tokens", field)));
  }
  if (std::ssize(*ids) <= most) return std::move(*ids);
  return tl::unexpected(bad_request(
      field,
      purpose == TextPurpose::query
          ? fmt::format("'query' has {} tokens, more than the model's {}", ids->size(), most)
          : fmt::format("chunk {} has {} tokens, more than the model's {}: give shorter ones",
                        place + 1, ids->size(), most),
      "context_length_exceeded"));
}

// The request, with the probe of the model as its last text where it is not known yet.
ApiResult<VectorRequest> request_for(const OpenAiService& service, const MemoryRequest& call,
                                     const EmbedJob& job) {
  const Result<EmbedInfo>& info = service.text->embed_info();
  if (!info) return tl::unexpected(api_error(info.error(), "model"));
  if (info->pooling == Pooling::none) {
    return tl::unexpected(
        bad_request("model", "the model's file says that it pools nothing: it cannot embed"));
  }
  VectorRequest request;
  request.pooling = info->pooling;
  request.terms.tenant = call.tenant;
  request.terms.request_id = call.id;
  for (const std::string& text : job.texts) {
    request.texts.push_back(
        TRY(ids_of_text(service, *info, text, job.purpose, request.texts.size())));
    request.n_kept_bytes += text.size();
  }
  for (const std::string& text : job.queries) {
    request.texts.push_back(TRY(ids_of_text(service, *info, text, TextPurpose::query, 0)));
    request.n_kept_bytes += text.size();
  }
  if (!call.memory.kind(service.names.front())) {
    request.texts.push_back(TRY(ids_of_text(service, *info, std::string(kProbeText),
                                            TextPurpose::query, 0, most_embed_tokens(service))));
  }
  return request;
}

// Three threads work on a job: this one makes tokens, the service's own one vectors, and one of
// the memory's the answer.
ApiResult<void> start_job(const MemoryRequest& call, const OpenAiService& service,
                          const MakeEmbedJob& make) {
  EmbedJob job = TRY(make(service));
  if (job.texts.empty() && job.queries.empty()) {
    // The answer may wait for a disk all the same.
    job.workers->post([call, answer = std::move(job.answer)] {
      run_caught(call.reply, [&] { send_result(call.reply, answer({})); });
    });
    return {};
  }
  VectorRequest request = TRY(request_for(service, call, job));
  const std::string model = service.names.front();
  const EmbedInfo& info = *service.text->embed_info();
  const std::string described = described_model(service, info);
  const double vector_weight = vector_weight_of(info.pooling_is_stated);
  compute_vectors(
      service, std::move(request), call.reply,
      [call, model, described, vector_weight, n = job.texts.size() + job.queries.size(),
       workers = job.workers, answer = std::move(job.answer)](VectorResult result) {
        // Shared, as a function object must be copyable.
        auto done = std::make_shared<EmbeddedTexts>();
        for (Embedding& one : result.vectors) done->vectors.push_back(std::move(one.numbers));
        done->n_tokens = result.n_prompt_tokens;
        done->vector_weight = vector_weight;
        if (done->vectors.size() > n) {
          call.memory.set_kind(model,
                               {described, std::ssize(done->vectors.back()), done->vectors.back()});
          done->vectors.pop_back();
        }
        done->kind = *call.memory.kind(model);
        workers->post([call, done, answer] {
          run_caught(call.reply, [&] { send_result(call.reply, answer(std::move(*done))); });
        });
      });
  return {};
}

}  // namespace

ApiResult<ServedMemory*> memory_of(const ServerParts& server) {
  if (server.memory != nullptr) return server.memory;
  return tl::unexpected(bad_request(
      "", "this server keeps no documents: it was started without --memory FOLDER", "memory_off"));
}

ApiError memory_error(const ServedMemory& memory, const Status& status) {
  ApiError error = api_error(status);
  const std::string& folder = memory.options().folder;
  constexpr std::string_view kShown = "memory";
  for (size_t at = 0; (at = error.message.find(folder, at)) != std::string::npos;) {
    error.message.replace(at, folder.size(), kShown);
    at += kShown.size();
  }
  return error;
}

void embed_and_answer(const MemoryRequest& call, uint64_t n_bytes, MakeEmbedJob make) {
  call.models.with_model(call.memory.options().model, n_bytes,
                         [call, make = std::move(make)](ApiResult<ServiceLease> lease) {
                           run_caught(call.reply, [&] {
                             if (!lease)
                               return send_response(call.reply, error_response(lease.error()));
                             const OpenAiService& service = **lease;
                             call.reply->keep(std::move(*lease));
                             const auto started = start_job(call, service, make);
                             if (!started)
                               send_response(call.reply, error_response(started.error()));
                           });
                         });
}

void send_result(const std::shared_ptr<Reply>& reply, const ApiResult<HttpResponse>& result) {
  send_response(reply, result ? *result : error_response(result.error()));
}

}  // namespace ruv
