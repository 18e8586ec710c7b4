#include "net/openai/fields.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/utf8.h"
#include "ruv/options.h"

namespace ruv {
namespace {

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
    FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
    FieldRow{"n", kHonoured, "answers per prompt, 1 to 128; answer i uses seed + i"},
    FieldRow{"stop", kHonoured, "a text or up to 16 texts; the answer ends before them", R"([""])"},
    FieldRow{"seed", kHonoured, "0 to 9007199254740992; the same seed gives the same bytes",
             "[-1]"},
    FieldRow{"logit_bias", kHonoured, "token id to a bias from -100 to 100"},
    FieldRow{"stream", kHonoured, "true: server-sent events"},
    FieldRow{"stream_options", kHonoured, "{\"include_usage\": bool}; says nothing without stream"},
    FieldRow{"stop_token_ids", kHonoured,
             "up to 64 ids; the answer ends at one, besides the model's own end tokens"},
    FieldRow{"allowed_token_ids", kHonoured,
             "up to 131072 ids; no others may come, ends of the answer included"},
    FieldRow{"repeat_penalty", kHonoured, "another name of repetition_penalty"},
    FieldRow{"repeat_last_n", kHonoured, "another name of repetition_window"},
    FieldRow{
        "truncate_prompt_tokens", kHonoured,
        "longer prompts lose their beginning, so that they are this many tokens; -1: as many as "
        "the context holds beside one of the answer; usage says how many were lost"},
    FieldRow{
        "prompt_logprobs", kHonoured,
        "0 to 20: log-probabilities of the prompt's tokens and of this many alternatives, as vLLM "
        "has them; not with stream"},
    FieldRow{"include_stop_str_in_output", kHonoured, "another name of include_stop"},
    FieldRow{"cache_prompt", kHonoured, "another name of cache_prefix"},
    FieldRow{"user", kHonoured,
             "whose request it is: users get equal service and share no kept prefixes"},
    FieldRow{"cache_salt", kHonoured, "kept prefixes are shared among requests with one salt only"},
    FieldRow{"priority", kHonoured, "\"low\", \"normal\", \"high\" or \"critical\"", "[0]"},
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
    FieldRow{"store", kUnsupported, "nothing is stored", "[false]"},
    FieldRow{"service_tier", kUnsupported, "", R"(["auto", "default"])"},
    FieldRow{"prompt_cache_retention", kNoEffect, "a hint for other servers' caches"},
    FieldRow{"prompt_cache_options", kNoEffect, "a hint for other servers' caches"},
    FieldRow{"moderation", kUnsupported, ""},
    FieldRow{"keep_alive", kNoEffect, "the model stays in memory"},
    FieldRow{"request_id", kNoEffect,
             "the caller's name of the request; the header X-Request-Id is "
             "in the log"},
    FieldRow{"prompt_cache_key", kNoEffect, "a hint for other servers' caches; a text"},
    FieldRow{"safety_identifier", kHonoured, "another name of user; takes precedence over it"},
};

// What other servers take: llama.cpp's, vLLM's and SGLang's.
constexpr std::array kForeignFields{
    FieldRow{"tfs_z", kUnsupported, "", "[1]"},
    FieldRow{"min_keep", kUnsupported, "", "[0, 1]"},
    FieldRow{"use_beam_search", kUnsupported, "", "[false]"},
    FieldRow{"length_penalty", kUnsupported, "", "[1]"},
    FieldRow{"early_stopping", kUnsupported, "", "[false]"},
    FieldRow{"skip_special_tokens", kUnsupported, "", "[true]"},
    FieldRow{"spaces_between_special_tokens", kUnsupported, "", "[true, false]"},
    FieldRow{"logits_processors", kUnsupported, "", "[[]]"},
    FieldRow{"return_token_ids", kUnsupported, "", "[false]"},
    FieldRow{"return_tokens", kUnsupported, "", "[false]"},
    FieldRow{"return_tokens_as_token_ids", kUnsupported, "", "[false]"},
    FieldRow{"n_probs", kUnsupported, "see logprobs", "[0]"},
    FieldRow{"post_sampling_probs", kUnsupported, "", "[false]"},
    FieldRow{"n_discard", kUnsupported, "", "[0]"},
    FieldRow{"n_cache_reuse", kUnsupported, "", "[0]"},
    FieldRow{"t_max_prompt_ms", kNoEffect, "llama.cpp does nothing with it; see timeout_ms"},
    FieldRow{"id_slot", kNoEffect, "prompts find what the cache has without slots"},
    FieldRow{"timings_per_token", kUnsupported, "", "[false]"},
    FieldRow{"return_progress", kUnsupported, "", "[false]"},
    FieldRow{"lora", kHonoured,
             "the adapters to compute with: a list of names, or of objects with `name` or `id` and "
             "perhaps `scale`; empty: none"},
};

// Every field of OpenAI's API is listed, supported or not, so that clients get a precise error.
constexpr auto kChatFields = joined_rows(
    kSharedFields, kForeignFields,
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
                 "tokens to generate at most; 0: none; absent: until the context is full", "[-1]"},
        FieldRow{"max_completion_tokens", kHonoured, "another name of max_tokens", "[-1]"},
        FieldRow{"n_predict", kHonoured, "another name of max_tokens", "[-1]"},
        FieldRow{"logprobs", kHonoured, "true: log-probabilities of the answer's tokens"},
        FieldRow{"top_logprobs", kHonoured,
                 "likeliest alternatives per token, 0 to 20; needs logprobs", "[0]"},
        FieldRow{"tools", kHonoured, "a list of functions that the answer may call"},
        FieldRow{
            "tool_choice", kHonoured,
            "\"auto\", the default, \"none\" (the template is given no tools), \"required\", one "
            "function, or allowed_tools"},
        FieldRow{"parallel_tool_calls", kHonoured,
                 "false: the answer ends after its first call; true, the default"},
        FieldRow{"functions", kUnsupported, "see tools", "[[]]"},
        FieldRow{"function_call", kUnsupported, "see tool_choice", R"(["none", "auto"])"},
        FieldRow{"modalities", kUnsupported, "", R"([["text"]])"},
        FieldRow{"audio", kUnsupported, ""},
        FieldRow{"prediction", kUnsupported, ""},
        FieldRow{"reasoning_effort", kHonoured,
                 "a word for the template, such as \"low\"; \"none\" switches thinking off"},
        FieldRow{"thinking_token_budget", kHonoured,
                 "tokens of reasoning, after which its end is written for the model"},
        FieldRow{"think", kHonoured,
                 "false: reasoning_effort \"none\"; true: thinking switched on; or a word as "
                 "reasoning_effort has it"},
        FieldRow{"reasoning_format", kHonoured,
                 "\"auto\", the default: reasoning_content; \"none\": reasoning is content"},
        FieldRow{"verbosity", kUnsupported, "", R"(["medium"])"},
        FieldRow{"web_search_options", kUnsupported, ""},
        FieldRow{"documents", kUnsupported, "", "[[]]"},
        FieldRow{"chat_template", kUnsupported, "the model's own is used", R"([""])"},
        FieldRow{"include_reasoning", kUnsupported, "", "[true]"},
        FieldRow{"add_special_tokens", kUnsupported, "", "[false]"},
        FieldRow{"parse_tool_calls", kUnsupported, "", "[true]"},
    });

// POST /v1/completions.
constexpr auto kCompletionFields = joined_rows(
    kSharedFields, kForeignFields,
    std::array{
        FieldRow{"prompt", kHonoured,
                 "required: a text, ids, or a list of texts or of lists of ids"},
        FieldRow{"max_tokens", kHonoured,
                 "tokens to generate at most; 0: none; absent: until the context is full", "[-1]"},
        FieldRow{"n_predict", kHonoured, "another name of max_tokens", "[-1]"},
        FieldRow{"suffix", kHonoured,
                 "a text: the answer fills the gap between the prompt and it, for models that were "
                 "trained for that",
                 R"([""])"},
        FieldRow{"echo", kHonoured,
                 "true: the text begins with the prompt; its tokens are in logprobs"},
        FieldRow{"logprobs", kHonoured, "alternatives per token, 0 to 20"},
        FieldRow{
            "best_of", kHonoured,
            "n to 128: answers that are generated for each prompt; the n of them that have the "
            "highest log-probability per token are returned, the best first",
            "[1]"},
        FieldRow{"add_special_tokens", kUnsupported, "", "[true]"},
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
        FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
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
        FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
        FieldRow{"query", kHonoured, "required: a text"},
        FieldRow{"documents", kHonoured, "required: up to 2048 texts or {\"text\": …}"},
        FieldRow{"top_n", kHonoured, "only this many results, the best ones"},
        FieldRow{"return_documents", kHonoured, "true: results have the texts of their documents"},
        kTruncateField,
    },
    kTermFields);
constexpr auto kScoreFields = joined_rows(
    std::array{
        FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
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
    FieldRow{"annotations", kUnsupported, "", "[[]]"},
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
    FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
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
    FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
};

constexpr std::array kSessionFields{
    FieldRow{"messages", kHonoured, "required: the conversation, texts only"},
};

// One row for each kind of body.
constexpr BodyTable kChat{"chat", kChatFields, kMaxConversationValues, true};
constexpr BodyTable kCompletion{"completion", kCompletionFields, kMaxIdValues, true};
constexpr BodyTable kEmbedding{"embedding", kEmbeddingFields, kMaxIdValues};
constexpr BodyTable kRerank{"rerank", kRerankFields, kMaxConversationValues};
constexpr BodyTable kScore{"score", kScoreFields, kMaxConversationValues};
constexpr BodyTable kTemplate{"template", kTemplateFields, kMaxConversationValues};
constexpr BodyTable kTokenize{"tokenize", kTokenizeFields, kMaxConversationValues};
constexpr BodyTable kDetokenize{"detokenize", kDetokenizeFields, kMaxIdValues};
constexpr std::array kModelFields{FieldRow{"model", kHonoured, "a model's name or alias"}};

constexpr std::array kUnloadAdapterFields{
    FieldRow{"model", kHonoured, "the model that it is for; the first when absent"},
    FieldRow{"lora_name", kHonoured, "the adapter's name in requests"},
    FieldRow{"lora_int_id", kNoEffect, "names are enough"},
    FieldRow{"expected_generation", kHonoured,
             "what has the name must be of this generation; 0: nothing has it"},
};
constexpr std::array kLoadAdapterFields = joined_rows(
    kUnloadAdapterFields,
    std::array{FieldRow{"lora_path", kHonoured,
                        "a folder of PEFT or MLX, or a GGUF file, in the folder of --lora-dir"},
               FieldRow{"load_inplace", kHonoured, "true: what has the name may be replaced"},
               FieldRow{"base_model_name", kNoEffect, "see model"}});

constexpr std::array kFeedbackFields{
    FieldRow{"model", kHonoured, "the model that learns; the first when absent"},
    FieldRow{"instance", kHonoured, "required: what learns it; requests name the adapter by it"},
    FieldRow{"messages", kHonoured, "the conversation that was answered"},
    FieldRow{"tools", kHonoured, "of the conversation"},
    FieldRow{"chat_template_kwargs", kHonoured, "of the conversation"},
    FieldRow{"prompt", kHonoured, "a text that was answered, in place of messages"},
    FieldRow{"correction", kHonoured, "the answer that was wanted"},
    FieldRow{"answer", kHonoured, "the answer that is rated"},
    FieldRow{"rating", kHonoured, "of the answer, from -1 to 1"},
    FieldRow{"ids", kHonoured, "tokens in place of texts"},
    FieldRow{"score", kHonoured, "of each id: 1 where it is judged, else 0"},
    FieldRow{"task", kHonoured, "another name than before ends a task"},
};
constexpr std::array kUndoFields{
    FieldRow{"model", kHonoured, "the model that learned; the first when absent"},
    FieldRow{"instance", kHonoured, "required: whose steps"},
    FieldRow{"steps", kHonoured, "accepted steps to take back; 1 when absent"},
};

constexpr BodyTable kFeedback{"feedback", kFeedbackFields, kMaxConversationValues};
constexpr BodyTable kUndo{"undo", kUndoFields, 16};
constexpr BodyTable kLoadUnload{"model", kModelFields, 16};
constexpr BodyTable kLoadAdapter{"load_adapter", kLoadAdapterFields, 16};
constexpr BodyTable kUnloadAdapter{"unload_adapter", kUnloadAdapterFields, 16};
constexpr BodyTable kSession{"session", kSessionFields, kMaxConversationValues};

constexpr int kMaxBodyDepth = 100;

// Linear: the tables are short and bodies have few fields.
const FieldRow* find_row(std::span<const FieldRow> rows, std::string_view name) {
  for (const FieldRow& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Null: the field is unknown.
ApiResult<void> check_field(const FieldRow* row, const std::string& full, const Json& value) {
  if (row == nullptr) return unknown_field(full);
  if (row->use != FieldUse::unsupported || is_neutral(*row, value)) return {};
  std::string message = fmt::format("'{}' is not supported yet", full);
  const std::string accepted = accepted_values(*row);
  if (!accepted.empty()) message += "; accepted: only " + accepted;
  if (*row->doc != '\0') message += std::string("; ") + row->doc;
  return tl::unexpected(bad_request(full, std::move(message), "unsupported_field"));
}

}  // namespace

const BodyTable& chat_fields() { return kChat; }
const BodyTable& completion_fields() { return kCompletion; }
const BodyTable& embedding_fields() { return kEmbedding; }
const BodyTable& rerank_fields() { return kRerank; }
const BodyTable& score_fields() { return kScore; }
const BodyTable& template_fields() { return kTemplate; }
const BodyTable& tokenize_fields() { return kTokenize; }
const BodyTable& detokenize_fields() { return kDetokenize; }
const BodyTable& session_fields() { return kSession; }
const BodyTable& model_fields() { return kLoadUnload; }
const BodyTable& feedback_fields() { return kFeedback; }
const BodyTable& undo_fields() { return kUndo; }
const BodyTable& load_adapter_fields() { return kLoadAdapter; }
const BodyTable& unload_adapter_fields() { return kUnloadAdapter; }
std::span<const FieldRow> message_fields() { return kMessageFields; }

// Numbers compare by value: 1 and 1.0 are one.
bool is_neutral(const FieldRow& row, const Json& value) {
  if (value.is_null()) return true;
  if (row.neutral == std::string_view("[]")) return false;
  const Json neutral = *parse_json(row.neutral, "neutral values");
  return std::ranges::find(neutral, value) != neutral.end();
}

std::string accepted_values(const FieldRow& row) {
  const Json neutral = *parse_json(row.neutral, "neutral values");
  std::string words;
  for (const Json& value : neutral) words += (words.empty() ? "" : " or ") + value.dump();
  return words;
}

bool is_plain_option(std::string_view name) {
  // These have forms of their own in the OpenAI bodies.
  for (const char* own : {"logprobs", "max_tokens", "seed", "stop"}) {
    if (name == own) return false;
  }
  return find_generate_option(name) != nullptr;
}

// Depth and number of values are limited while parsing.
ApiResult<Json> parse_object(std::string_view body, const BodyTable& table) {
  auto json = parse_json(body, "body", {.depth = kMaxBodyDepth, .values = table.max_values});
  if (!json) return tl::unexpected(api_error(json.error()));
  if (!json->is_object()) {
    return tl::unexpected(
        bad_request("", fmt::format("the body must be a JSON object, not {}", type_words(*json)),
                    "invalid_body"));
  }
  return std::move(*json);
}

bool has_row(const BodyTable& table, std::string_view name) {
  return find_row(table.rows, name) != nullptr;
}

bool takes_option(const BodyTable& table, std::string_view name) {
  return table.has_options && is_plain_option(name) && !has_row(table, name);
}

ApiResult<void> check_body(Json& body, const BodyTable& table) {
  std::vector<std::string> neutral;
  for (const auto& [name, value] : body.items()) {
    if (takes_option(table, name)) continue;
    const FieldRow* row = find_row(table.rows, name);
    TRY(check_field(row, std::string(name), value));
    if (is_neutral(*row, value)) neutral.emplace_back(name);
  }
  for (const std::string& name : neutral) body.erase(name);
  return {};
}

ApiResult<Json> parse_body(std::string_view body, const BodyTable& table) {
  Json json = TRY(parse_object(body, table));
  TRY(check_body(json, table));
  return json;
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

// Fails at the first.
ApiResult<void> check_fields(const Json& object, std::span<const FieldRow> rows,
                             std::string_view where) {
  for (const auto& [name, value] : object.items()) {
    TRY(check_field(find_row(rows, name), fmt::format("{}{}", where, name), value));
  }
  return {};
}

}  // namespace ruv
