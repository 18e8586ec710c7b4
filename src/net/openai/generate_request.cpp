#include "net/openai/generate_request.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "engine/session_store.h"
#include "net/openai/conversation.h"
#include "net/openai/fields.h"
#include "net/openai/tool_use.h"
#include "ruv/options.h"

namespace ruv {
namespace {

constexpr int64_t kMaxBiases = 4096;
constexpr size_t kMaxStopTokens = 64;
constexpr size_t kMaxAllowedTokens = 131072;
constexpr int64_t kMaxTimeoutMs = int64_t{7} * 24 * 3600 * 1000;

struct Alias {
  const char* alias;
  const char* name;  // of a row of the options table
};
constexpr Alias kAliases[] = {{"repeat_penalty", "repetition_penalty"},
                              {"repeat_last_n", "repetition_window"},
                              {"include_stop_str_in_output", "include_stop"},
                              {"cache_prompt", "cache_prefix"}};

const OptionRow& row_of(const char* name) { return *find_generate_option(name); }
// The range of an integer option in the table.
IntegerRange range_of(const OptionRow& row) { return {row.least, row.most}; }

// One text or a list of them, not more than the row takes.
ApiResult<OptionValue> texts_value(const OptionRow& row, const std::string& field,
                                   const Json& value) {
  if (value.is_string()) return std::vector<std::string>{value.get<std::string>()};
  if (!value.is_array()) return wrong_type(field, "an array of strings", value);
  if (std::cmp_greater(value.size(), row.most)) {
    return tl::unexpected(bad_request(
        field,
        fmt::format("'{}' has {} texts, at most {} are allowed", field, value.size(), row.most)));
  }
  std::vector<std::string> texts;
  for (const Json& text : value) {
    if (!text.is_string()) return wrong_type(field, "an array of strings", text);
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// The value of a row whose JSON form is its own. Fails: 400 naming the field.
ApiResult<OptionValue> plain_value(const OptionRow& row, const std::string& field,
                                   const Json& value) {
  using Kind = OptionRow::Kind;
  if (row.kind == Kind::flag) {
    if (!value.is_boolean()) return wrong_type(field, "true or false", value);
    return value.get<bool>();
  }
  if (row.kind == Kind::integer) {
    if (row.name == std::string_view("top_k") && value == -1) return int64_t{0};  // as vLLM has it
    return TRY(integer_within(field, value, range_of(row)));
  }
  if (row.kind == Kind::texts) return texts_value(row, field, value);
  if (!value.is_number()) return wrong_type(field, "a number", value);
  return value.get<double>();
}

ApiResult<void> set_plain(const OptionRow& row, const std::string& field, const Json& value,
                          GenerateParams& params) {
  const Status status = set_option(row, params, TRY(plain_value(row, field, value)));
  if (!status.ok()) return tl::unexpected(api_error(status, field));
  return {};
}

// Every member that is a row of the options table.
ApiResult<void> read_options(const Json& body, GenerateParams& params) {
  for (const auto& [name, value] : body.items()) {
    if (value.is_null() || !is_plain_option(name)) continue;
    TRY(set_plain(*find_generate_option(name), std::string(name), value, params));
  }
  for (const auto& [alias, name] : kAliases) {
    const Json* value = find_field(body, alias);
    if (value == nullptr) continue;
    if (find_field(body, name) != nullptr) {
      return tl::unexpected(
          bad_request(alias, fmt::format("'{}' and '{}' are the same; give one", alias, name)));
    }
    TRY(set_plain(*find_generate_option(name), alias, *value, params));
  }
  return {};
}

// A text or a list of texts, none empty, in the place of the model's own.
ApiResult<void> read_stop(const Json& body, GenerateParams& params) {
  const Json* stop = find_field(body, "stop");
  if (stop == nullptr) return {};
  if (!stop->is_string() && !stop->is_array()) {
    return wrong_type("stop", "a string or an array of strings", *stop);
  }
  const int64_t most = row_of("stop").most;
  if (stop->is_array() && std::cmp_greater(stop->size(), most)) {
    return tl::unexpected(bad_request(
        "stop", fmt::format("'stop' has {} texts, at most {} are allowed", stop->size(), most)));
  }
  params.stop.clear();
  const auto add = [&](const Json& text) -> ApiResult<void> {
    if (!text.is_string()) return wrong_type("stop", "an array of strings", text);
    if (text.empty()) {
      return tl::unexpected(bad_request("stop", "a stop text must not be empty"));
    }
    params.stop.push_back(text.get<std::string>());
    return {};
  };
  if (stop->is_string()) return add(*stop);
  for (const Json& text : *stop) TRY(add(text));
  return {};
}

// An object from token id to bias. Ids are checked against the vocabulary later.
ApiResult<void> read_logit_bias(const Json& body, GenerateParams& params) {
  const Json* biases = find_field(body, "logit_bias");
  if (biases == nullptr) return {};
  if (!biases->is_object()) return wrong_type("logit_bias", "an object", *biases);
  if (biases->size() > kMaxBiases) {
    return tl::unexpected(
        bad_request("logit_bias", fmt::format("'logit_bias' has {} entries, at most {} are allowed",
                                              biases->size(), kMaxBiases)));
  }
  for (const auto& [key, value] : biases->items()) {
    Token id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0) {
      return tl::unexpected(
          bad_request("logit_bias", fmt::format("'logit_bias': key '{}' is not a token id", key)));
    }
    if (!value.is_number()) return wrong_type("logit_bias." + std::string(key), "a number", value);
    const double bias = value.get<double>();
    if (!(bias >= -100 && bias <= 100)) {
      return tl::unexpected(bad_request(
          "logit_bias",
          fmt::format("'logit_bias': {} for token {} is not from -100 to 100", bias, id)));
    }
    params.logit_bias.emplace_back(id, static_cast<float>(bias));
  }
  return {};
}

// Completions only. The best cannot be known before all have ended.
ApiResult<void> read_best_of(const Json& body, GenerateRequest& request) {
  constexpr const char* kField = "best_of";
  request.best_of = TRY(read_integer(body, kField, request.n, {1, kMaxChoices}));
  if (request.best_of < request.n) {
    return tl::unexpected(bad_request(kField, fmt::format("'{}' is {}, less than the {} of 'n'",
                                                          kField, request.best_of, request.n)));
  }
  if (request.best_of == request.n || !request.stream) return {};
  return tl::unexpected(
      bad_request(kField, fmt::format("'{}' cannot be combined with 'stream'", kField)));
}

// The answers to one prompt use the seeds from this one on, and all must be in the option's range.
ApiResult<void> read_seed(const Json& body, int64_t n_answers, GenerateParams& params) {
  if (find_field(body, "seed") == nullptr) return {};
  IntegerRange range = range_of(row_of("seed"));
  range.max -= n_answers - 1;
  params.seed = static_cast<uint64_t>(TRY(read_integer(body, "seed", 0, range)));
  return {};
}

// A field of three names; several together are refused unless equal.
ApiResult<void> read_max_tokens(const Json& body, GenerateParams& params) {
  const char* given = nullptr;
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    const int64_t value = TRY(read_integer(body, name, -1, {0, INT32_MAX}));
    if (value < 0) continue;
    if (given != nullptr && value != params.max_tokens) {
      return tl::unexpected(bad_request(name, fmt::format("'{}' is {} and '{}' is {}; give one",
                                                          given, params.max_tokens, name, value)));
    }
    given = name;
    params.max_tokens = value;
  }
  return {};
}

// The model's end tokens stay what they are.
ApiResult<void> read_stop_tokens(const Json& body, GenerateParams& params) {
  const Json* ids = find_field(body, "stop_token_ids");
  if (ids == nullptr || *ids == Json::array()) return {};
  params.stop_tokens = TRY(read_tokens(*ids, "stop_token_ids"));
  if (params.stop_tokens.size() <= kMaxStopTokens) return {};
  return tl::unexpected(bad_request(
      "stop_token_ids", fmt::format("'stop_token_ids' has {} ids, at most {} are allowed",
                                    params.stop_tokens.size(), kMaxStopTokens)));
}

// An empty list would allow nothing and is refused.
ApiResult<void> read_allowed_tokens(const Json& body, GenerateParams& params) {
  const Json* ids = find_field(body, "allowed_token_ids");
  if (ids == nullptr) return {};
  if (ids->is_array() && ids->size() > kMaxAllowedTokens) {
    return tl::unexpected(bad_request(
        "allowed_token_ids", fmt::format("'allowed_token_ids' has {} ids, at most {} are allowed",
                                         ids->size(), kMaxAllowedTokens)));
  }
  params.allowed_token_ids = TRY(read_tokens(*ids, "allowed_token_ids"));
  return {};
}

// Without stream its options ask for nothing.
ApiResult<void> read_stream(const Json& body, GenerateRequest& request) {
  request.stream = TRY(read_flag(body, "stream", false));
  const Json* options = find_field(body, "stream_options");
  if (options == nullptr) return {};
  if (!options->is_object()) return wrong_type("stream_options", "an object", *options);
  constexpr FieldRow kRows[] = {
      {"include_usage", FieldUse::honoured, ""},
      {"continuous_usage_stats", FieldUse::unsupported, "", "[false]"},
      {"include_obfuscation", FieldUse::unsupported, "", "[false]"},
  };
  TRY(check_fields(*options, kRows, "stream_options."));
  const bool include_usage = TRY(read_flag(*options, "include_usage", false));
  request.include_usage = request.stream && include_usage;
  return {};
}

ApiResult<std::string> read_name(const Json& body, const char* name) {
  const Json* value = find_field(body, name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(name, "a string", *value);
  std::string text = value->get<std::string>();
  if (text.size() > kMaxTermBytes || text.find('\0') != text.npos) {
    return tl::unexpected(bad_request(
        name,
        fmt::format("'{}' must have at most {} bytes, none of them NUL", name, kMaxTermBytes)));
  }
  return text;
}

// metadata and prompt_cache_key: checked and otherwise ignored.
ApiResult<void> read_notes(const Json& body) {
  TRY(read_name(body, "prompt_cache_key"));
  const Json* metadata = find_field(body, "metadata");
  if (metadata != nullptr && !metadata->is_object()) {
    return wrong_type("metadata", "an object", *metadata);
  }
  return {};
}

}  // namespace

ApiResult<std::string> tenant_of(const HttpRequest& http, const std::string& user) {
  if (http.key_name.empty()) return user;
  std::string tenant = http.key_name + "/" + user;
  if (tenant.size() <= kMaxTermBytes) return tenant;
  return tl::unexpected(
      bad_request("user", fmt::format("'user' must have at most {} bytes with this key",
                                      kMaxTermBytes - http.key_name.size() - 1)));
}

ApiResult<void> claim_terms(const HttpRequest& http, ServiceTerms& terms) {
  terms.tenant = TRY(tenant_of(http, terms.tenant));
  terms.request_id = http.id;
  return {};
}

ApiResult<std::string> read_model(const Json& body) {
  const Json* model = find_field(body, "model");
  if (model == nullptr) return std::string();
  if (!model->is_string()) return wrong_type("model", "a string", *model);
  return model->get<std::string>();
}

// The owner of the request, its urgency, and the scope of shared prefixes.
ApiResult<ServiceTerms> read_terms(const Json& body) {
  ServiceTerms terms;
  const std::string user = TRY(read_name(body, "user"));
  const std::string safety = TRY(read_name(body, "safety_identifier"));
  terms.tenant = safety.empty() ? user : safety;
  terms.cache_salt = TRY(read_name(body, "cache_salt"));
  terms.timeout_ms = TRY(read_integer(body, "timeout_ms", 0, {1, kMaxTimeoutMs}));
  const std::string priority = TRY(read_name(body, "priority"));
  if (priority.empty()) return terms;
  constexpr const char* kNames[] = {"low", "normal", "high", "critical"};
  const auto* found = std::ranges::find(kNames, priority);
  if (found == std::end(kNames)) {
    return tl::unexpected(bad_request(
        "priority",
        fmt::format("'priority' is '{}'; it must be low, normal, high or critical", priority)));
  }
  terms.priority = static_cast<Priority>(found - kNames);
  return terms;
}

namespace {

ApiResult<void> read_truncation(const Json& body, GenerateRequest& request) {
  constexpr const char* kField = "truncate_prompt_tokens";
  const Json* value = find_field(body, kField);
  if (value == nullptr) return {};
  request.max_prompt_tokens = TRY(integer_within(kField, *value, {-1, INT32_MAX}));
  if (request.max_prompt_tokens == 0) {
    return tl::unexpected(
        bad_request(kField, fmt::format("'{}' must be -1 or at least 1", kField)));
  }
  if (!request.params.token_healing) return {};
  return tl::unexpected(
      bad_request(kField, fmt::format("'{}' cannot be combined with 'token_healing'", kField)));
}

// prompt_logprobs, as vLLM has it.
ApiResult<void> read_prompt_logprobs(const Json& body, GenerateRequest& request) {
  const IntegerRange range = range_of(row_of("logprobs"));
  const auto n = static_cast<int32_t>(TRY(read_integer(body, "prompt_logprobs", -1, range)));
  if (n < 0) return {};
  const char* other = nullptr;
  if (request.params.token_healing) other = "token_healing";
  if (request.stream) other = "stream";
  if (other != nullptr) {
    return tl::unexpected(bad_request(
        "prompt_logprobs", fmt::format("'prompt_logprobs' cannot be combined with '{}'", other)));
  }
  request.params.n_prompt_logprobs = request.n_prompt_top = n;
  return {};
}

// What both endpoints share.
ApiResult<GenerateRequest> read_shared(const Json& body, const GenerateParams& usual) {
  GenerateRequest request;
  request.params = usual;
  TRY(read_options(body, request.params));
  TRY(read_stop(body, request.params));
  TRY(read_logit_bias(body, request.params));
  TRY(read_max_tokens(body, request.params));
  TRY(read_stop_tokens(body, request.params));
  TRY(read_allowed_tokens(body, request.params));
  TRY(read_stream(body, request));
  TRY(read_notes(body));
  request.terms = TRY(read_terms(body));
  request.model = TRY(read_model(body));
  request.lora = TRY(read_adapters(body));
  request.form = TRY(read_answer_form(body));
  request.n = TRY(read_integer(body, "n", 1, {1, kMaxChoices}));
  TRY(read_truncation(body, request));
  TRY(read_best_of(body, request));
  TRY(read_seed(body, request.best_of, request.params));
  TRY(read_prompt_logprobs(body, request));
  return request;
}

// logprobs is a flag here and a number in completions.
ApiResult<void> read_chat_logprobs(const Json& body, GenerateParams& params) {
  const bool wanted = TRY(read_flag(body, "logprobs", false));
  const int64_t n_top = TRY(read_integer(body, "top_logprobs", -1, range_of(row_of("logprobs"))));
  if (n_top >= 0 && !wanted) {
    return tl::unexpected(bad_request("top_logprobs", "'top_logprobs' needs 'logprobs': true"));
  }
  if (wanted) params.n_logprobs = static_cast<int32_t>(std::max<int64_t>(n_top, 0));
  return {};
}

// A session needs a chat, one choice, and a valid name.
ApiResult<void> read_session(const Json& body, GenerateRequest& request) {
  const Json* session = find_field(body, "session");
  if (session == nullptr) return {};
  if (!session->is_string()) return wrong_type("session", "a string", *session);
  request.session = session->get<std::string>();
  if (const Status status = check_session_name(request.session); !status.ok())
    return tl::unexpected(api_error(status, "session"));
  if (request.n != 1)
    return tl::unexpected(
        bad_request("n", "'n' must be 1 with 'session': a session has one answer per turn"));
  if (request.conversation.end != PromptEnd::closed) return {};
  return tl::unexpected(bad_request("add_generation_prompt",
                                    "'session' needs an answer of the assistant: omit "
                                    "'add_generation_prompt'"));
}

ApiResult<RawPrompt> read_ids(const Json& ids, const std::string& where) {
  return RawPrompt{.ids = TRY(read_tokens(ids, where)), .is_ids = true};
}

}  // namespace

// The list's first element says what all are.
ApiResult<std::vector<RawPrompt>> read_prompts(const Json& body, const char* field, size_t most) {
  const Json* prompt = find_field(body, field);
  if (prompt == nullptr) return missing_field(field);
  std::vector<RawPrompt> prompts;
  if (prompt->is_string()) {
    prompts.push_back({.text = prompt->get<std::string>()});
    return prompts;
  }
  if (!prompt->is_array()) return wrong_type(field, "a string or an array", *prompt);
  if (prompt->empty()) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' must not be empty", field)));
  }
  if (prompt->front().is_number()) {
    prompts.push_back(TRY(read_ids(*prompt, field)));
    return prompts;
  }
  if (prompt->size() > most) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' has {} {}s, at most {} are allowed",
                                                         field, prompt->size(), field, most)));
  }
  const bool texts = prompt->front().is_string();
  for (size_t i = 0; i < prompt->size(); ++i) {
    const Json& item = (*prompt)[i];
    const std::string where = fmt::format("{}[{}]", field, i);
    if (texts ? !item.is_string() : !item.is_array()) {
      return wrong_type(where, texts ? "a string as the first" : "an array of token ids", item);
    }
    if (texts) {
      prompts.push_back({.text = item.get<std::string>()});
    } else {
      prompts.push_back(TRY(read_ids(item, where)));
    }
  }
  return prompts;
}

ApiResult<GenerateRequest> read_chat_request(const Json& json, const GenerateParams& usual) {
  GenerateRequest request = TRY(read_shared(json, usual));
  request.conversation = TRY(read_chat(json, MessageCheck::members));
  TRY(read_tool_use(json, request));
  if (request.params.token_healing && request.conversation.end != PromptEnd::open_message) {
    return tl::unexpected(
        bad_request("token_healing",
                    "'token_healing' needs 'continue_final_message': true; elsewhere the chat "
                    "template ends the prompt"));
  }
  TRY(read_chat_logprobs(json, request.params));
  TRY(read_session(json, request));
  return request;
}

ApiResult<void> read_suffix(const Json& body, GenerateRequest& request) {
  const Json* suffix = find_field(body, "suffix");
  if (suffix == nullptr) return {};
  if (!suffix->is_string()) return wrong_type("suffix", "a string", *suffix);
  request.suffix = suffix->get<std::string>();
  for (const RawPrompt& prompt : request.prompts) {
    if (!prompt.is_ids) continue;
    return tl::unexpected(bad_request("suffix", "'suffix' needs prompts that are texts"));
  }
  const char* other = nullptr;
  if (request.params.token_healing) other = "token_healing";
  if (request.max_prompt_tokens != 0) other = "truncate_prompt_tokens";
  if (other == nullptr) return {};
  return tl::unexpected(
      bad_request("suffix", fmt::format("'suffix' cannot be combined with '{}'", other)));
}

// The prompt's tokens are listed with those of the answer.
ApiResult<void> check_echo(GenerateRequest& request) {
  if (!request.scores_echo()) return {};
  const char* other = nullptr;
  if (request.params.token_healing) other = "token_healing";
  if (!request.suffix.empty()) other = "suffix";
  if (other != nullptr) {
    return tl::unexpected(bad_request(
        "echo", fmt::format("'echo' with 'logprobs' cannot be combined with '{}'", other)));
  }
  int32_t& n = request.params.n_prompt_logprobs;
  n = std::max(n, request.params.n_logprobs);
  return {};
}

// The same for raw prompts.
ApiResult<GenerateRequest> read_completion_request(const Json& json, const GenerateParams& usual) {
  GenerateRequest request = TRY(read_shared(json, usual));
  request.prompts = TRY(read_prompts(json, "prompt", kMaxChoices));
  request.echo = TRY(read_flag(json, "echo", false));
  TRY(read_suffix(json, request));
  request.params.n_logprobs =
      static_cast<int32_t>(TRY(read_integer(json, "logprobs", -1, range_of(row_of("logprobs")))));
  TRY(check_echo(request));
  const auto n_prompts = static_cast<int64_t>(request.prompts.size());
  if (n_prompts * request.best_of > kMaxChoices) {
    const char* const field = request.best_of > request.n ? "best_of" : "n";
    return tl::unexpected(
        bad_request(field, fmt::format("{} prompts with {} = {} give more than {} answers",
                                       n_prompts, field, request.best_of, kMaxChoices)));
  }
  return request;
}

}  // namespace ruv
