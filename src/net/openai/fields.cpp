#include "net/openai/fields.h"

#include <array>

#include "base/json.h"
#include "base/utf8.h"
#include "ruv/options.h"

namespace ruv {
namespace {

bool is_false(const Json& value) { return value == false; }
bool is_empty_list(const Json& value) { return value.is_array() && value.empty(); }
bool is_empty_text(const Json& value) { return value.is_string() && value.empty(); }
bool is_none(const Json& value) { return value == "none"; }
bool is_one(const Json& value) { return value == 1; }
bool is_medium(const Json& value) { return value == "medium"; }
// The same service as without the field.
bool is_usual_tier(const Json& value) { return value == "auto" || value == "default"; }
// Values of refused fields that ask for nothing.
bool is_text_only(const Json& value) {
  return value.is_array() && value.size() == 1 && value[0] == "text";
}

constexpr FieldUse kHonoured = FieldUse::honoured;
constexpr FieldUse kNoEffect = FieldUse::no_effect;
constexpr FieldUse kUnsupported = FieldUse::unsupported;

// One table after the other.
template <size_t... N>
constexpr auto joined_rows(const std::array<FieldRow, N>&... tables) {
  std::array<FieldRow, (N + ...)> rows{};
  size_t n = 0;
  const auto add = [&](const auto& table) {
    for (const FieldRow& row : table) rows[n++] = row;
  };
  (add(tables), ...);
  return rows;
}

// Both endpoints that generate.
constexpr std::array kSharedFields{
    FieldRow{"model", kHonoured, "required: the served model's name or alias"},
    FieldRow{"n", kHonoured, "answers per prompt, 1 to 128; answer i uses seed + i"},
    FieldRow{"stop", kHonoured, "a text or up to 16 texts; the answer ends before them"},
    FieldRow{"seed", kHonoured, "0 to 9007199254740992; the same seed gives the same bytes"},
    FieldRow{"logit_bias", kHonoured, "token id to a bias from -100 to 100"},
    FieldRow{"stream", kHonoured, "true: server-sent events"},
    FieldRow{"stream_options", kHonoured, "{\"include_usage\": bool}; needs stream"},
    FieldRow{"repeat_penalty", kHonoured, "another name of repetition_penalty"},
    FieldRow{"cache_prompt", kHonoured, "another name of cache_prefix"},
    FieldRow{"user", kHonoured,
             "whose request it is: users get equal service and share no kept prefixes"},
    FieldRow{"cache_salt", kHonoured, "kept prefixes are shared among requests with one salt only"},
    FieldRow{"priority", kHonoured, "\"low\", \"normal\", \"high\" or \"critical\""},
    FieldRow{"response_format", kHonoured,
             "the form of the answer: {\"type\": \"text\"}, \"json_object\", \"json_schema\" or "
             "\"structural_tag\""},
    FieldRow{"structured_outputs", kHonoured,
             "the same: an object with one of json, regex, choice, grammar, json_object, "
             "structural_tag"},
    FieldRow{"json_schema", kHonoured, "the same: a JSON schema"},
    FieldRow{"structural_tag", kHonoured, "the same: text with tags in it, as XGrammar has them"},
    FieldRow{"grammar", kHonoured, "the same: a grammar in GBNF, or in the dialect of Lark"},
    FieldRow{"format", kHonoured, "the same: \"json\" or a JSON schema"},
    FieldRow{"guided_json", kHonoured, "another name of json_schema"},
    FieldRow{"guided_regex", kHonoured, "the same: a pattern that the whole answer matches"},
    FieldRow{"guided_choice", kHonoured, "the same: a list of texts, of which it is one"},
    FieldRow{"guided_grammar", kHonoured, "another name of grammar"},
    FieldRow{"guided_json_object", kHonoured, "true: any JSON object"},
    FieldRow{"guided_whitespace_pattern", kUnsupported, ""},
    FieldRow{"guided_decoding_backend", kUnsupported, ""},
    FieldRow{"timeout_ms", kHonoured, "the answer fails when it is not finished in this time"},
    FieldRow{"metadata", kNoEffect, "the caller's notes; an object"},
    FieldRow{"store", kUnsupported, "only false: nothing is stored", is_false},
    FieldRow{"service_tier", kUnsupported, "only \"auto\" or \"default\"", is_usual_tier},
    FieldRow{"prompt_cache_key", kNoEffect, "a hint for other servers' caches; a text"},
    FieldRow{"safety_identifier", kHonoured, "another name of user; takes precedence over it"},
};

// Every field of OpenAI's API is listed, supported or not, so that clients get a precise error.
constexpr auto kChatFields = joined_rows(
    kSharedFields,
    std::array{
        FieldRow{"messages", kHonoured, "required: the conversation, texts only"},
        FieldRow{"session", kHonoured,
                 "the name of a kept conversation: it precedes the messages, and these and the "
                 "answer are added to it"},
        FieldRow{"add_generation_prompt", kHonoured,
                 "false: the prompt does not end where an answer begins"},
        FieldRow{"continue_final_message", kHonoured,
                 "true: the answer continues the last message, which is the assistant's"},
        FieldRow{"chat_template_kwargs", kHonoured, "an object: more variables of the template"},
        FieldRow{"max_tokens", kHonoured,
                 "tokens to generate at most; absent: until the context is full"},
        FieldRow{"max_completion_tokens", kHonoured, "another name of max_tokens"},
        FieldRow{"logprobs", kHonoured, "true: log-probabilities of the answer's tokens"},
        FieldRow{"top_logprobs", kHonoured,
                 "likeliest alternatives per token, 0 to 20; needs logprobs"},
        FieldRow{"tools", kHonoured, "a list of functions that the answer may call"},
        FieldRow{
            "tool_choice", kHonoured,
            "\"auto\", the default, \"none\" (the template is given no tools), \"required\", one "
            "function, or allowed_tools"},
        FieldRow{"parallel_tool_calls", kHonoured,
                 "false: the answer ends after its first call; true, the default"},
        FieldRow{"functions", kUnsupported, "only an empty list", is_empty_list},
        FieldRow{"function_call", kUnsupported, "only \"none\"", is_none},
        FieldRow{"modalities", kUnsupported, "only [\"text\"]", is_text_only},
        FieldRow{"audio", kUnsupported, ""},
        FieldRow{"prediction", kUnsupported, ""},
        FieldRow{"reasoning_effort", kHonoured,
                 "a word for the template, such as \"low\"; \"none\" switches thinking off"},
        FieldRow{"thinking_token_budget", kHonoured,
                 "tokens of reasoning, after which its end is written for the model"},
        FieldRow{"reasoning_format", kHonoured,
                 "\"auto\", the default: reasoning_content; \"none\": reasoning is content"},
        FieldRow{"verbosity", kUnsupported, "only \"medium\"", is_medium},
        FieldRow{"web_search_options", kUnsupported, ""},
    });

// POST /v1/completions.
constexpr auto kCompletionFields = joined_rows(
    kSharedFields,
    std::array{
        FieldRow{"prompt", kHonoured,
                 "required: a text, ids, or a list of texts or of lists of ids"},
        FieldRow{"max_tokens", kHonoured,
                 "tokens to generate at most; absent: until the context is full"},
        FieldRow{"echo", kHonoured, "true: the text begins with the prompt; not with logprobs"},
        FieldRow{"logprobs", kHonoured, "alternatives per token, 0 to 20"},
        FieldRow{"best_of", kUnsupported, "only 1", is_one},
        FieldRow{"suffix", kUnsupported, "only \"\"", is_empty_text},
    });

// What the routes of vectors share.
constexpr std::array kTermFields{
    FieldRow{"user", kHonoured, "whose request it is: users get equal service"},
    FieldRow{"safety_identifier", kHonoured, "another name of user; takes precedence over it"},
    FieldRow{"cache_salt", kHonoured, "kept prefixes are shared among requests with one salt only"},
    FieldRow{"priority", kHonoured, "\"low\", \"normal\", \"high\" or \"critical\""},
    FieldRow{"timeout_ms", kHonoured, "the request fails when it is not finished in this time"},
};
constexpr FieldRow kTruncateField{
    "truncate_prompt_tokens", kHonoured,
    "longer texts lose their end, so that they are this many tokens with the special ones; -1: as "
    "many as the model takes"};

// POST /v1/embeddings.
constexpr auto kEmbeddingFields = joined_rows(
    std::array{
        FieldRow{"model", kHonoured, "required: the served model's name or alias"},
        FieldRow{"input", kHonoured,
                 "required: a text, ids, or a list of up to 2048 texts or lists of ids"},
        FieldRow{"encoding_format", kHonoured,
                 "\"float\", the default, or \"base64\": float32, little-endian"},
        FieldRow{"dimensions", kHonoured, "this many numbers of each vector, the first ones"},
        kTruncateField,
        FieldRow{"pooling", kHonoured,
                 "\"mean\", \"cls\", \"last\" or \"weighted_mean\"; absent: the model's"},
        FieldRow{"normalize", kHonoured,
                 "true: vectors have length 1; false: as they are; absent: as the model does"},
        FieldRow{
            "prompt_name", kHonoured,
            "which of the model's prompts is put before each text; \"\": none; absent: the model's "
            "default"},
        FieldRow{"add_special_tokens", kHonoured,
                 "false: texts do not begin and end with the model's tokens"},
    },
    kTermFields);

// POST /v1/rerank and POST /v1/score.
constexpr auto kRerankFields = joined_rows(
    std::array{
        FieldRow{"model", kHonoured, "required: the served model's name or alias"},
        FieldRow{"query", kHonoured, "required: a text"},
        FieldRow{"documents", kHonoured, "required: up to 2048 texts or {\"text\": …}"},
        FieldRow{"top_n", kHonoured, "only this many results, the best ones"},
        FieldRow{"return_documents", kHonoured, "true: results have the texts of their documents"},
        kTruncateField,
    },
    kTermFields);
constexpr auto kScoreFields = joined_rows(
    std::array{
        FieldRow{"model", kHonoured, "required: the served model's name or alias"},
        FieldRow{"text_1", kHonoured, "required: a text, or as many as text_2 has"},
        FieldRow{"text_2", kHonoured, "required: a text, or up to 2048"},
        kTruncateField,
    },
    kTermFields);

// The members of a chat message.
constexpr std::array kMessageFields{
    FieldRow{"role", kHonoured, "system, developer (the same), user, assistant or tool"},
    FieldRow{"content", kHonoured,
             "a text, or a list of {\"type\": \"text\", \"text\": …}; null beside tool_calls"},
    FieldRow{"name", kHonoured, "a text, given to the template"},
    FieldRow{
        "tool_calls", kHonoured,
        "of the assistant: a list of {\"id\", \"type\": \"function\", \"function\": {\"name\", "
        "\"arguments\"}}; arguments are an object, or its JSON as a text"},
    FieldRow{"tool_call_id", kHonoured, "of the role tool: the call that the message answers"},
    FieldRow{"reasoning_content", kHonoured, "of the assistant: a text, given to the template"},
    FieldRow{"cache_control", kNoEffect, "a hint for other servers' caches"},
    FieldRow{"parsed", kNoEffect, "what OpenAI's client made of the content"},
    FieldRow{"provider_specific_fields", kNoEffect, "what LiteLLM noted beside"},
    FieldRow{"refusal", kUnsupported, ""},
    FieldRow{"annotations", kUnsupported, "only an empty list", is_empty_list},
    FieldRow{"audio", kUnsupported, ""},
    FieldRow{"function_call", kUnsupported, ""},
};

constexpr std::array kTemplateFields{
    FieldRow{"messages", kHonoured, "the conversation; may contain tool calls and results"},
    FieldRow{"tools", kHonoured, "a list, given to the template as it is"},
    FieldRow{"add_generation_prompt", kHonoured,
             "true, the default: the text ends where the answer begins"},
    FieldRow{"continue_final_message", kHonoured,
             "true: the text ends inside the last message; add_generation_prompt is then "
             "false"},
    FieldRow{"chat_template_kwargs", kHonoured, "an object: more variables of the template"},
    FieldRow{"model", kHonoured, "the served model's name or alias, if given"},
};

// POST /tokenize: llama.cpp's names and vLLM's.
constexpr auto kTokenizeFields = joined_rows(
    std::array{
        FieldRow{"content", kHonoured, "a text; add_special is then false unless given"},
        FieldRow{"prompt", kHonoured, "the same; add_special is then true unless given"},
    },
    kTemplateFields,
    std::array{
        FieldRow{"add_special", kHonoured,
                 "true: bos and eos where the model wants them; not with messages"},
        FieldRow{"add_special_tokens", kHonoured, "another name of add_special"},
        FieldRow{
            "parse_special", kHonoured,
            "true, the default: control tokens written in the text are these; not with messages"},
        FieldRow{"with_pieces", kHonoured, "true: tokens are objects {\"id\", \"piece\"}"},
        FieldRow{"return_token_strs", kHonoured, "true: token_strs has the vocabulary's names"},
        FieldRow{
            "with_spans", kHonoured,
            "true: spans has [begin, end] of each token in bytes of the text; not with messages"},
        FieldRow{"count_only", kHonoured, "true: only the count"},
    });

// POST /detokenize.
constexpr std::array kDetokenizeFields{
    FieldRow{"tokens", kHonoured, "required: a list of ids"},
    FieldRow{"skip_special_tokens", kHonoured, "true: control tokens give no text"},
    FieldRow{"model", kHonoured, "the served model's name or alias, if given"},
};

constexpr int kMaxBodyDepth = 100;

// Linear: the tables are short and bodies have few fields.
const FieldRow* find_row(std::span<const FieldRow> rows, std::string_view name) {
  for (const FieldRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const FieldRow> chat_fields() { return kChatFields; }
std::span<const FieldRow> completion_fields() { return kCompletionFields; }
std::span<const FieldRow> embedding_fields() { return kEmbeddingFields; }
std::span<const FieldRow> rerank_fields() { return kRerankFields; }
std::span<const FieldRow> score_fields() { return kScoreFields; }
std::span<const FieldRow> message_fields() { return kMessageFields; }
std::span<const FieldRow> template_fields() { return kTemplateFields; }
std::span<const FieldRow> tokenize_fields() { return kTokenizeFields; }
std::span<const FieldRow> detokenize_fields() { return kDetokenizeFields; }

bool is_plain_option(std::string_view name) {
  // These have forms of their own in the OpenAI bodies.
  for (const char* own : {"logprobs", "max_tokens", "seed", "stop"}) {
    if (name == own) return false;
  }
  return find_generate_option(name) != nullptr;
}

// Depth and number of values are limited while parsing.
ApiResult<Json> parse_body(std::string_view body, std::span<const FieldRow> rows, size_t max_values,
                           PlainOptions options) {
  auto json = parse_json(body, "body", {.depth = kMaxBodyDepth, .values = max_values});
  if (!json) return tl::unexpected(api_error(json.error()));
  if (!json->is_object()) {
    return tl::unexpected(
        bad_request("", fmt::format("the body must be a JSON object, not {}", type_words(*json)),
                    "invalid_body"));
  }
  TRY(check_fields(*json, rows, "", options));
  return std::move(*json);
}

// The first element that is not an id is named by its index.
ApiResult<std::vector<Token>> read_tokens(const Json& ids, const std::string& where) {
  const std::string field = where.substr(0, where.find('['));
  if (!ids.is_array()) return wrong_type(where, "an array of token ids", ids);
  if (ids.empty()) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' has no tokens", where)));
  }
  std::vector<Token> tokens;
  tokens.reserve(ids.size());
  for (const Json& id : ids) {
    if (!id.is_number_integer()) return wrong_type(where, "an array of token ids", id);
    const bool fits = id.is_number_unsigned() && id.get<uint64_t>() <= INT32_MAX;
    if (!fits) {
      return tl::unexpected(
          bad_request(field, fmt::format("'{}': {} is not a token id", where, id.dump())));
    }
    tokens.push_back(id.get<Token>());
  }
  return tokens;
}

// Fails at the first member that is unknown, or unsupported with a value that asks for something.
ApiResult<void> check_fields(const Json& object, std::span<const FieldRow> rows,
                             std::string_view where, PlainOptions options) {
  for (const auto& [name, value] : object.items()) {
    const std::string full = fmt::format("{}{}", where, name);
    const FieldRow* row = find_row(rows, name);
    if (row == nullptr) {
      if (options == PlainOptions::known && is_plain_option(name)) continue;
      return unknown_field(full);
    }
    if (row->use != FieldUse::unsupported || value.is_null()) continue;
    if (row->asks_nothing != nullptr && row->asks_nothing(value)) continue;
    const std::string_view hint = row->doc;
    return tl::unexpected(bad_request(full,
                                      fmt::format("'{}' is not supported yet{}{}", full,
                                                  hint.empty() ? "" : "; accepted: ", hint),
                                      "unsupported_field"));
  }
  return {};
}

}  // namespace ruv
