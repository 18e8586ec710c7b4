// Engine::create and names.
#include "ruv/engine.h"

#include "base/thread.h"
#include "engine/batch_engine.h"
#include "engine/pooled_states.h"
#include "ruv/options.h"
#include "ruv/stream.h"

namespace ruv {

std::string_view cache_miss_name(CacheMiss miss) {
  switch (miss) {
    case CacheMiss::none:
      return "none";
    case CacheMiss::unknown:
      return "unknown";
    case CacheMiss::diverged:
      return "diverged";
    case CacheMiss::evicted:
      return "evicted";
    case CacheMiss::off:
      return "off";
    case CacheMiss::too_few:
      return "too_few";
  }
  return "unknown";
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none:
      return "none";
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::error:
      return "error";
  }
  return "unknown";
}

// Chooses sizes, builds the parts, and starts the engine's thread.
Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const Model> model,
                                               const EngineOptions& options) {
  if (model == nullptr) return fail(Code::invalid, "engine: no model given");
  if (!kHasThreads) return fail(Code::unsupported, "engine: this system has no threads");
  TRY(with_context("LoadOptions::defaults", check_defaults(model->defaults)));
  const EngineOptions complete = TRY(complete_options(options, *model));
  EngineParts parts = TRY(make_parts(*model, complete));
  return std::make_unique<BatchEngine>(std::move(model), complete, std::move(parts));
}

Result<int64_t> Engine::kv_bytes(const Model& model, const EngineOptions& options) {
  return kv_bytes_for(model, TRY(complete_options(options, model)));
}

Result<Embedding> Engine::embed(std::vector<Token> text, const EmbedParams& params,
                                const ServiceTerms& terms) {
  std::vector<std::vector<Token>> texts;
  texts.push_back(std::move(text));
  std::vector<Embedding> made = TRY(embed_all(std::move(texts), params, terms));
  return std::move(made[0]);
}

namespace {

// Fails: invalid, naming both numbers.
Status check_length(const EmbedInfo& info, int64_t n_tokens) {
  if (info.max_tokens == 0 || n_tokens <= info.max_tokens) return {};
  return fail(Code::invalid, "{} tokens; the model's vectors are of texts of at most {}", n_tokens,
              info.max_tokens);
}

// Says which of several texts an error is about, counted from 1.
Status in_text(size_t index, size_t n_texts, const Status& status) {
  return n_texts == 1 ? status : with_context(fmt::format("text {}", index + 1), status);
}

}  // namespace

Result<std::vector<Embedding>> Engine::embed_all(std::vector<std::vector<Token>> texts,
                                                 const EmbedParams& params,
                                                 const ServiceTerms& terms) {
  const EmbedInfo info = TRY(embed_info(model()));
  TRY(check_embed_params(model(), params));
  for (size_t i = 0; i < texts.size(); ++i) {
    const Status status = check_length(info, std::ssize(texts[i]));
    if (!status.ok()) return tl::unexpected<Status>(in_text(i, texts.size(), status));
  }
  std::vector<Embedding> made;
  made.reserve(texts.size());
  const auto add = [&](std::vector<float> states, int64_t n_tokens) {
    made.push_back(finish_embedding(model(), states, params));
    made.back().n_tokens = n_tokens;
  };
  TRY(pooled_states(
      *this,
      {.ids = std::move(texts), .pooling = params.pooling.value_or(info.pooling), .terms = terms},
      add));
  return made;
}

Result<std::vector<float>> Engine::classify(std::vector<Token> text, int64_t second_text,
                                            const ServiceTerms& terms) {
  const ClassifierInfo info = TRY(classifier_info(model()));
  std::vector<float> state;
  TRY(pooled_states(*this,
                    {.ids = {std::move(text)},
                     .second_texts = {second_text},
                     .pooling = info.pooling,
                     .terms = terms},
                    [&](std::vector<float> states, int64_t) { state = std::move(states); }));
  return class_scores(model(), state);
}

}  // namespace ruv
