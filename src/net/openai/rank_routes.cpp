// POST /v1/rerank, as Jina's and Cohere's APIs have it, and POST /v1/score, as vLLM's: scores of
// pairs of texts.
#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "base/json_writer.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"
#include "net/openai/routes.h"
#include "net/openai/vector_job.h"
#include "ruv/rank.h"

namespace ruv {
namespace {

constexpr size_t kMaxPairs = 2048;

// A field that is a text or a list of texts; `objects`: or of {"text": …}.
ApiResult<std::vector<std::string>> read_texts(const Json& body, const char* field, bool objects) {
  const Json* value = find_field(body, field);
  if (value == nullptr) return missing_field(field);
  if (value->is_string() && !objects) return std::vector<std::string>{value->get<std::string>()};
  if (!value->is_array()) {
    return wrong_type(field, objects ? "an array" : "a string or an array of strings", *value);
  }
  if (value->empty() || value->size() > kMaxPairs) {
    return tl::unexpected(bad_request(
        field, fmt::format("'{}' has {} texts; give 1 to {}", field, value->size(), kMaxPairs)));
  }
  std::vector<std::string> texts;
  for (const Json& element : *value) {
    const std::string where = fmt::format("{}[{}]", field, texts.size());
    const Json* text = &element;
    if (objects && element.is_object()) {
      constexpr FieldRow kRows[] = {{"text", FieldUse::honoured, ""}};
      TRY(check_fields(element, kRows, where + "."));
      text = find_field(element, "text");
      if (text == nullptr) return missing_field(where + ".text");
    }
    if (!text->is_string()) return wrong_type(where, "a string", *text);
    texts.push_back(text->get<std::string>());
  }
  return texts;
}

// What both routes take: the checked model and how long texts may be.
struct PairsCall {
  VectorRequest request;
  PairTexts texts;
};

ApiResult<void> check_gives_vectors(const OpenAiService& service) {
  const Result<EmbedInfo>& info = service.text->embed_info();
  if (!info && !service.text->can_rank().ok()) {
    return tl::unexpected(api_error(info.error(), "model"));
  }
  return {};
}

// Fails: 400 naming the pair whose text is too long.
ApiResult<PairsCall> read_pairs(const ApiCall& api, std::span<const TextPair> pairs,
                                PairKind kind) {
  const OpenAiService& service = api.service;
  const Json& body = api.body;
  PairsCall call;
  const int64_t most = most_embed_tokens(service);
  const int64_t limit = TRY(read_integer(body, "truncate_prompt_tokens", 0, {-1, most}));
  auto texts = service.text->pair_ids(pairs, kind, limit < 0 ? most : limit);
  if (!texts) return tl::unexpected(api_error(texts.error()));
  call.texts = std::move(*texts);
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (const size_t place : {call.texts.pairs[i].first, call.texts.pairs[i].second}) {
      const int64_t n = std::ssize(call.texts.ids[place]);
      if (n <= most) continue;
      return tl::unexpected(
          bad_request("",
                      fmt::format("a text of pair {} has {} tokens, at most {} are possible here; "
                                  "'truncate_prompt_tokens': -1 drops the end of longer texts",
                                  i, n, most),
                      "context_length_exceeded"));
    }
  }
  call.request.texts = std::move(call.texts.ids);
  call.request.second_texts = call.texts.second_texts;
  call.request.as_states = call.texts.classified;
  call.request.pooling = call.texts.pooling;
  call.request.terms = TRY(read_terms(body));
  TRY(claim_terms(api.http, call.request.terms));
  const std::string named = TRY(read_model(body));
  call.request.adapters = TRY(find_adapters(api.service, {}, named));
  return call;
}

void write_usage(JsonWriter& out, int64_t n_tokens) {
  out.key("usage");
  out.begin_object();
  out.key("prompt_tokens");
  out.integer(n_tokens);
  out.key("total_tokens");
  out.integer(n_tokens);
  out.end_object();
}

// Members that identify an answer.
struct RankHead {
  std::string id;
  std::string model;
  int64_t created = 0;
};

ApiResult<void> answer_score(const ApiCall& api, const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = api.service;
  const Json& body = api.body;
  TRY(check_gives_vectors(service));
  const std::vector<std::string> first = TRY(read_texts(body, "text_1", false));
  const std::vector<std::string> second = TRY(read_texts(body, "text_2", false));
  if (first.size() != second.size() && first.size() != 1) {
    return tl::unexpected(bad_request(
        "text_1", fmt::format("'text_1' has {} texts and 'text_2' {}; give one, or equally many",
                              first.size(), second.size())));
  }
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < second.size(); ++i) {
    pairs.push_back({first[first.size() == 1 ? 0 : i], second[i]});
  }
  PairsCall call = TRY(read_pairs(api, pairs, PairKind::alike));
  const RankHead head{"score-", service.names.front(), service.unix_time()};
  const auto send = [reply, head, texts = std::move(call.texts), &service](VectorResult result) {
    const std::vector<double> scores = service.text->pair_scores(texts, result.vectors);
    reply->post([reply, head, scores, n = result.n_prompt_tokens, &service] {
      std::string json;
      JsonWriter out(json);
      out.begin_object();
      out.key("id");
      out.text(head.id + service.unique_name());
      out.key("object");
      out.text("list");
      out.key("created");
      out.integer(head.created);
      out.key("model");
      out.text(head.model);
      out.key("data");
      out.begin_array();
      for (size_t i = 0; i < scores.size(); ++i) {
        out.begin_object();
        out.key("index");
        out.integer(i);
        out.key("object");
        out.text("score");
        out.key("score");
        out.real(scores[i]);
        out.end_object();
      }
      out.end_array();
      write_usage(out, n);
      out.end_object();
      reply->send({.body = std::move(json)});
    });
  };
  compute_vectors(service, std::move(call.request), reply, send);
  return {};
}

// What a /v1/rerank answer is made of.
struct Ranking {
  std::vector<std::string> documents;  // empty: they are not returned
  std::vector<double> scores;
  int64_t n_best = 0;
  int64_t n_tokens = 0;
};

// The best first; of equal ones the earlier.
std::string ranking_json(const Ranking& ranking, const RankHead& head) {
  std::vector<size_t> order(ranking.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return ranking.scores[i]; });
  order.resize(std::min(order.size(), static_cast<size_t>(ranking.n_best)));
  std::string json;
  JsonWriter out(json);
  out.begin_object();
  out.key("id");
  out.text(head.id);
  out.key("model");
  out.text(head.model);
  write_usage(out, ranking.n_tokens);
  out.key("results");
  out.begin_array();
  for (const size_t i : order) {
    out.begin_object();
    out.key("index");
    out.integer(i);
    if (!ranking.documents.empty()) {
      out.key("document");
      out.begin_object();
      out.key("text");
      out.text(ranking.documents[i]);
      out.end_object();
    }
    out.key("relevance_score");
    out.real(ranking.scores[i]);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return json;
}

ApiResult<void> answer_rerank(const ApiCall& api, const std::shared_ptr<Reply>& reply) {
  const OpenAiService& service = api.service;
  const Json& body = api.body;
  TRY(check_gives_vectors(service));
  if (const Status status = service.text->can_rank(); !status.ok()) {
    return tl::unexpected(api_error(status, "model"));
  }
  const Json* query = find_field(body, "query");
  if (query == nullptr) return missing_field("query");
  if (!query->is_string()) return wrong_type("query", "a string", *query);
  Ranking ranking;
  std::vector<std::string> documents = TRY(read_texts(body, "documents", true));
  const auto n = static_cast<int64_t>(documents.size());
  ranking.n_best = TRY(read_integer(body, "top_n", n, {1, INT32_MAX}));
  std::vector<TextPair> pairs;
  for (const std::string& document : documents) pairs.push_back({query->text(), document});
  PairsCall call = TRY(read_pairs(api, pairs, PairKind::document));
  if (TRY(read_flag(body, "return_documents", false))) {
    for (const std::string& text : documents) call.request.n_kept_bytes += text.size();
    ranking.documents = std::move(documents);
  }
  auto send = [reply, ranking = std::move(ranking), texts = std::move(call.texts),
               &service](VectorResult result) mutable {
    ranking.scores = service.text->pair_scores(texts, result.vectors);
    ranking.n_tokens = result.n_prompt_tokens;
    reply->post([reply, ranking = std::move(ranking), &service] {
      const RankHead head{"rerank-" + service.unique_name(), service.names.front()};
      reply->send({.body = ranking_json(ranking, head)});
    });
  };
  compute_vectors(service, std::move(call.request), reply, std::move(send));
  return {};
}

}  // namespace

std::vector<Route> rank_routes(ServedModels& models) {
  std::vector<Route> routes;
  for (const char* path : {"/rerank", "/v1/rerank", "/v2/rerank"}) {
    routes.push_back(api_route(models, "POST", path, rerank_fields(), answer_rerank));
  }
  for (const char* path : {"/score", "/v1/score"}) {
    routes.push_back(api_route(models, "POST", path, score_fields(), answer_score));
  }
  return routes;
}

}  // namespace ruv
