// POST /v1/embeddings: vectors of texts, as OpenAI's API gives them.
#include <array>
#include <bit>
#include <utility>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/token_ids.h"
#include "net/openai/api_route.h"
#include "net/openai/generate_request.h"
#include "net/openai/routes.h"
#include "net/openai/send_pieces.h"
#include "net/openai/vector_request.h"

namespace ruv {
namespace {

// The most inputs of one request, as in OpenAI's API.
constexpr size_t kMaxInputs = 2048;
// float32 numbers, little-endian, in base64.
std::string base64_of(std::span<const float> numbers) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t n_bytes = numbers.size() * sizeof(float);
  const auto byte = [&](size_t i) -> uint32_t {
    if (i >= n_bytes) return 0;
    return std::bit_cast<uint32_t>(numbers[i / 4]) >> (8 * (i % 4)) & 0xFF;
  };
  std::string text;
  text.reserve((n_bytes + 2) / 3 * 4);
  for (size_t i = 0; i < n_bytes; i += 3) {
    const uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int shift = 18; shift >= 0; shift -= 6) text += kLetters[group >> shift & 63];
  }
  if (n_bytes % 3 != 0) text.replace(text.size() - (3 - n_bytes % 3), 3, 3 - n_bytes % 3, '=');
  return text;
}

// The body of an answer, written a vector at a time. Used by one thread at a time.
class EmbeddingsAnswer {
 public:
  EmbeddingsAnswer(VectorResult result, std::string model, bool base64)
      : result_(std::move(result)), model_(std::move(model)), base64_(base64) {}
  EmbeddingsAnswer(const EmbeddingsAnswer&) = delete;

  // The next bytes: about n_bytes and at least a vector, or all that are left. Empty: there are
  // none.
  std::string next(size_t n_bytes) {
    if (next_ == 0 && out_.empty()) begin();
    while (next_ < result_.vectors.size() && out_.size() < n_bytes) write_vector();
    if (next_ == result_.vectors.size() && !std::exchange(ended_, true)) end();
    return std::exchange(out_, {});
  }
  bool done() const { return ended_; }
  uint64_t held_bytes() const {
    uint64_t n = 0;
    for (const Embedding& vector : result_.vectors) n += vector.numbers.size() * sizeof(float);
    return n;
  }

 private:
  void begin() {
    writer_.begin_object();
    writer_.key("object");
    writer_.text("list");
    writer_.key("data");
    writer_.begin_array();
  }
  // Each number as the float64 that equals it, so that both encodings give the same numbers.
  void write_vector() {
    Embedding& vector = result_.vectors[next_];
    writer_.begin_object();
    writer_.key("object");
    writer_.text("embedding");
    writer_.key("index");
    writer_.integer(next_++);
    writer_.key("embedding");
    if (base64_) {
      writer_.text(base64_of(vector.numbers));
    } else {
      writer_.begin_array();
      for (const float x : vector.numbers) writer_.real(double{x});
      writer_.end_array();
    }
    writer_.end_object();
    vector.numbers = {};
  }
  void end() {
    writer_.end_array();
    writer_.key("model");
    writer_.text(model_);
    writer_.key("usage");
    writer_.begin_object();
    writer_.key("prompt_tokens");
    writer_.integer(result_.n_prompt_tokens);
    writer_.key("total_tokens");
    writer_.integer(result_.n_prompt_tokens);
    writer_.end_object();
    writer_.end_object();
  }

  VectorResult result_;
  std::string model_;
  bool base64_;
  size_t next_ = 0;
  bool ended_ = false;
  std::string out_;
  JsonWriter writer_{out_};
};

// Fails: 400 for another word.
ApiResult<bool> read_base64(const Json& body) {
  const Json* format = find_field(body, "encoding_format");
  if (format == nullptr || *format == "float") return false;
  if (*format == "base64") return true;
  if (!format->is_string()) return wrong_type("encoding_format", "a string", *format);
  return tl::unexpected(
      bad_request("encoding_format", fmt::format("'encoding_format' is {}; \"float\" and "
                                                 "\"base64\" are supported",
                                                 shortened(format->dump(), 60))));
}

// A vector of each token is not a vector of the text.
ApiResult<Pooling> read_pooling(const Json& body, const EmbedInfo& info) {
  const Json* field = find_field(body, "pooling");
  std::optional<Pooling> pooling = info.pooling;
  if (field != nullptr) {
    if (!field->is_string()) return wrong_type("pooling", "a string", *field);
    pooling = find_pooling(field->text());
  }
  if (pooling && *pooling != Pooling::none) return *pooling;
  constexpr const char* kKinds = "\"mean\", \"cls\", \"last\" or \"weighted_mean\"";
  return tl::unexpected(bad_request(
      "pooling",
      field == nullptr
          ? fmt::format("the model's file says that it pools nothing; give 'pooling': {}", kKinds)
          : fmt::format("'pooling' must be {}", kKinds)));
}

ApiResult<EmbedParams> read_params(const Json& body, const EmbedInfo& info) {
  EmbedParams params;
  params.dimensions = TRY(read_integer(body, "dimensions", 0, {1, info.n_dims}));
  const Json* normalise = find_field(body, "normalize");
  if (normalise != nullptr) params.normalise = TRY(read_flag(body, "normalize", true));
  return params;
}

// Nothing where none is named.
ApiResult<std::optional<std::string>> read_prompt_name(const Json& body, const EmbedInfo& info) {
  const Json* field = find_field(body, "prompt_name");
  if (field == nullptr) return std::nullopt;
  if (!field->is_string()) return wrong_type("prompt_name", "a string", *field);
  const std::string_view name = field->text();
  std::string known;
  for (const auto& [known_name, text] : info.prompts) {
    if (known_name == name) return std::string(name);
    known += fmt::format("{}'{}'", known.empty() ? "it has " : ", ", known_name);
  }
  if (name.empty()) return std::string();
  return tl::unexpected(bad_request(
      "prompt_name", fmt::format("the model has no prompt '{}'; {}", shortened(name, 60),
                                 known.empty() ? "it has none" : known)));
}

// How texts become ids; those that are given as ids stay as they are.
ApiResult<EmbedPrompt> read_prompt(const Json& body, const EmbedInfo& info, int64_t most_tokens,
                                   bool has_ids) {
  EmbedPrompt prompt;
  prompt.name = TRY(read_prompt_name(body, info));
  prompt.add_special = TRY(read_flag(body, "add_special_tokens", true));
  const int64_t limit = TRY(read_integer(body, "truncate_prompt_tokens", 0, {-1, most_tokens}));
  if (find_field(body, "truncate_prompt_tokens") != nullptr && limit == 0) {
    return tl::unexpected(
        bad_request("truncate_prompt_tokens", "'truncate_prompt_tokens' must be -1 or at least 1"));
  }
  prompt.max_tokens = limit < 0 ? most_tokens : limit;
  if (!has_ids) return prompt;
  for (const char* field : {"prompt_name", "truncate_prompt_tokens", "add_special_tokens"}) {
    if (find_field(body, field) == nullptr) continue;
    return tl::unexpected(
        bad_request(field, fmt::format("'{}' applies to texts, and 'input' has ids", field)));
  }
  return prompt;
}

ApiResult<void> check_ids(const OpenAiService& service, const std::vector<Token>& ids,
                          const std::string& where) {
  const std::string field = "input";
  if (ids.empty()) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' gives no tokens", where)));
  }
  const int64_t most = most_embed_tokens(service);
  if (std::ssize(ids) > most) {
    return tl::unexpected(bad_request(
        field,
        fmt::format("'{}' has {} tokens, at most {} are possible here; 'truncate_prompt_tokens': "
                    "-1 drops the end of longer texts",
                    where, ids.size(), most),
        "context_length_exceeded"));
  }
  const int64_t n_vocab = service.text->info().n_vocab;
  const std::optional<Token> unknown = unknown_token(ids, n_vocab);
  if (!unknown) return {};
  return tl::unexpected(bad_request(
      field,
      fmt::format("'{}': token {} is outside the vocabulary of {}", where, *unknown, n_vocab)));
}

ApiResult<void> answer_embeddings(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const bool base64 = TRY(read_base64(call.body));
  VectorRequest request = TRY(read_vector_request(call, call.body));
  const auto send = [reply, base64, model = call.service.names.front()](VectorResult result) {
    send_in_pieces(reply, std::make_shared<EmbeddingsAnswer>(std::move(result), model, base64));
  };
  compute_vectors(call.service, std::move(request), reply, send);
  return {};
}

}  // namespace

ApiResult<VectorRequest> read_vector_request(const ApiCall& call, const Json& body) {
  const OpenAiService& service = call.service;
  const Result<EmbedInfo>& info = service.text->embed_info();
  if (!info) return tl::unexpected(api_error(info.error(), "model"));
  VectorRequest request;
  request.pooling = TRY(read_pooling(body, *info));
  request.params = TRY(read_params(body, *info));
  request.terms = TRY(read_terms(body));
  TRY(claim_terms(call.http, request.terms));
  const std::string named = TRY(read_model(body));
  request.adapters = TRY(find_adapters(service, {}, named));
  std::vector<RawPrompt> inputs = TRY(read_prompts(body, "input", kMaxInputs));
  const EmbedPrompt prompt =
      TRY(read_prompt(body, *info, most_embed_tokens(service), inputs.front().is_ids));
  for (size_t i = 0; i < inputs.size(); ++i) {
    TRY(check_awaited(call.http));
    const std::string where = inputs.size() == 1 ? "input" : fmt::format("input[{}]", i);
    if (!inputs[i].is_ids) {
      auto ids = service.text->embed_ids(inputs[i].text, prompt);
      if (!ids) return tl::unexpected(api_error(ids.error(), "input"));
      inputs[i] = {.ids = std::move(*ids)};
    }
    TRY(check_ids(service, inputs[i].ids, where));
    request.texts.push_back(std::move(inputs[i].ids));
  }
  return request;
}

Route embeddings_route(ServedModels& models) {
  return api_route(models, "POST", "/v1/embeddings", embedding_fields(), answer_embeddings);
}

}  // namespace ruv
