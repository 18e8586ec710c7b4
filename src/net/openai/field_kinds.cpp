#include "net/openai/field_kinds.h"

#include <algorithm>
#include <array>

namespace ruv {
namespace {

constexpr const char* kFlag = R"({"type": "boolean"})";
constexpr const char* kText = R"({"type": "string"})";
constexpr const char* kObject = R"({"type": "object"})";
constexpr const char* kCount = R"({"type": "integer", "minimum": 0})";
constexpr const char* kUpTo20 = R"({"type": "integer", "minimum": 0, "maximum": 20})";
constexpr const char* kUpTo128 = R"({"type": "integer", "minimum": 1, "maximum": 128})";
constexpr const char* kList = R"({"type": "array"})";
constexpr const char* kObjects = R"({"type": "array", "items": {"type": "object"}})";
constexpr const char* kTexts = R"({"type": "array", "items": {"type": "string"}})";
constexpr const char* kIds = R"({"type": "array", "items": {"type": "integer", "minimum": 0}})";
constexpr const char* kTextOrTexts =
    R"({"type": ["string", "array"], "items": {"type": "string"}})";
constexpr const char* kTextOrList = R"({"type": ["string", "array"]})";
constexpr const char* kTextOrObject = R"({"type": ["string", "object"]})";
constexpr const char* kTextOrSchema = R"({"type": ["string", "object", "boolean"]})";
constexpr const char* kFlagOrText = R"({"type": ["boolean", "string"]})";

struct KindRow {
  const char* name;
  const char* kind;
  const char* table = "";  // where only one table's field of that name is so; it comes first
};

constexpr std::array kKinds{
    KindRow{"logprobs", kUpTo20, "completion"},
    KindRow{"store", kFlag, "responses"},
    KindRow{"prompt", kTextOrList, "completion"},
    KindRow{"rating", R"({"type": "number", "minimum": -1, "maximum": 1})", "feedback"},
    KindRow{"score", kIds, "feedback"},
    KindRow{"ids", kIds, "feedback"},
    KindRow{"answer", kText, "feedback"},
    KindRow{"correction", kText, "feedback"},
    KindRow{"task", kText, "feedback"},
    KindRow{"steps", kCount, "undo"},
    KindRow{"instance", kText, "feedback"},
    KindRow{"instance", kText, "undo"},
    KindRow{"input", kTextOrTexts, "ollama_embed"},
    KindRow{"system", kText, "ollama_generate"},
    KindRow{"format", kTextOrSchema, "ollama_chat"},
    KindRow{"format", kTextOrSchema, "ollama_generate"},
    KindRow{"tool_choice", kObject, "messages"},
    KindRow{"tool_choice", kObject, "count_tokens"},
    KindRow{"metadata", kObject, "messages"},
    KindRow{"documents", kList, "rerank"},
    KindRow{"metadata", kObject, "memory_document"},
    KindRow{"metadata", kObject, "memory_search"},
    KindRow{"metadata", kObject, "memory_context"},
    KindRow{"text", kText, "memory_document"},
    KindRow{"format", kText, "memory_document"},
    KindRow{"metadata", kObject, "vector_store"},
    KindRow{"metadata", kObject, "vector_store_change"},
    KindRow{"query", kTextOrTexts, "vector_store_search"},
    KindRow{"k", R"({"type": "integer", "minimum": 1, "maximum": 100})", "session_search"},
    KindRow{"max_tokens", kCount, "memory_context"},
    KindRow{"text", kObject, "responses"},

    KindRow{"adapter", kText},
    KindRow{"add_generation_prompt", kFlag},
    KindRow{"add_special", kFlag},
    KindRow{"add_special_tokens", kFlag},
    KindRow{"allowed_token_ids", kIds},
    KindRow{"attributes", kObject},
    KindRow{"background", kFlag},
    KindRow{"best_of", kUpTo128},
    KindRow{"cache_prompt", kFlag},
    KindRow{"cache_salt", kText},
    KindRow{"chat_template_kwargs", kObject},
    KindRow{"chunking_strategy", kObject},
    KindRow{"chunk_bytes", R"({"type": "integer", "minimum": 16, "maximum": 65536})"},
    KindRow{"content", kText},
    KindRow{"continue_final_message", kFlag},
    KindRow{"count_only", kFlag},
    KindRow{"description", kText},
    KindRow{"dimensions", kCount},
    KindRow{"echo", kFlag},
    KindRow{"encoding_format", R"({"enum": ["float", "base64"]})"},
    KindRow{"expected_generation", kCount},
    KindRow{"expires_after", kObject},
    KindRow{"file_id", kText},
    KindRow{"file_ids", kTexts},
    KindRow{"files", kObjects},
    KindRow{"filter", kObject},
    KindRow{"filters", kObject},
    KindRow{"grammar", kText},
    KindRow{"guided_choice", kTexts},
    KindRow{"guided_grammar", kText},
    KindRow{"guided_json_object", kFlag},
    KindRow{"guided_regex", kText},
    KindRow{"include_stop_str_in_output", kFlag},
    KindRow{"input", kTextOrList},
    KindRow{"input_extra", kObjects},
    KindRow{"input_prefix", kText},
    KindRow{"input_suffix", kText},
    KindRow{"instructions", kText},
    KindRow{"k", R"({"type": "integer", "minimum": 1, "maximum": 1000})"},
    KindRow{"load_inplace", kFlag},
    KindRow{"logit_bias", R"({"type": ["object", "array"]})"},
    KindRow{"logprobs", kFlag},
    KindRow{"lora", kList},
    KindRow{"lora_name", kText},
    KindRow{"lora_path", kText},
    KindRow{"max_bytes", R"({"type": "integer", "minimum": 1, "maximum": 1048576})"},
    KindRow{"max_completion_tokens", kCount},
    KindRow{"max_num_results", R"({"type": "integer", "minimum": 1, "maximum": 50})"},
    KindRow{"max_output_tokens", kCount},
    KindRow{"max_tokens", kCount},
    KindRow{"max_visited", R"({"type": "integer", "minimum": 1, "maximum": 10000})"},
    KindRow{"messages", kObjects},
    KindRow{"mode", R"({"enum": ["hybrid", "vector", "words"]})"},
    KindRow{"model", kText},
    KindRow{"n", kUpTo128},
    KindRow{"n_predict", kCount},
    KindRow{"name", kText},
    KindRow{"normalize", kFlag},
    KindRow{"options", kObject},
    KindRow{"output_config", kObject},
    KindRow{"overlap_bytes", R"({"type": "integer", "minimum": 0, "maximum": 32767})"},
    KindRow{"parallel_tool_calls", kFlag},
    KindRow{"parse_special", kFlag},
    KindRow{"pooling", R"({"enum": ["mean", "cls", "last", "weighted_mean"]})"},
    KindRow{"previous_response_id", kText},
    KindRow{"priority", R"({"enum": ["low", "normal", "high", "critical"]})"},
    KindRow{"prompt", kText},
    KindRow{"prompt_logprobs", kUpTo20},
    KindRow{"prompt_name", kText},
    KindRow{"query", kText},
    KindRow{"ranking_options", kObject},
    KindRow{"quality", R"({"type": "number", "minimum": 0, "maximum": 1})"},
    KindRow{"raw", kFlag},
    KindRow{"reasoning", kObject},
    KindRow{"reasoning_effort", kText},
    KindRow{"reasoning_format", R"({"enum": ["auto", "none"]})"},
    KindRow{"refresh_bytes", R"({"type": "integer", "minimum": 0, "maximum": 1048576})"},
    KindRow{"related", R"({"type": "integer", "minimum": 0, "maximum": 1000})"},
    KindRow{"remember", kFlag},
    KindRow{"repeat_last_n", R"({"type": "integer"})"},
    KindRow{"repeat_penalty", R"({"type": "number"})"},
    KindRow{"request_id", kText},
    KindRow{"response_format", kObject},
    KindRow{"return_documents", kFlag},
    KindRow{"return_token_strs", kFlag},
    KindRow{"safety_identifier", kText},
    KindRow{"seed", R"({"type": "integer", "minimum": 0, "maximum": 9007199254740992})"},
    KindRow{"session", kText},
    KindRow{"since", kCount},
    KindRow{"skip_special_tokens", kFlag},
    KindRow{"stop", kTextOrTexts},
    KindRow{"stop_sequences", kTexts},
    KindRow{"stop_token_ids", kIds},
    KindRow{"stream", kFlag},
    KindRow{"stream_options", kObject},
    KindRow{"structured_outputs", kObject},
    KindRow{"suffix", kText},
    KindRow{"system", kTextOrList},
    KindRow{"text_1", kTextOrList},
    KindRow{"text_2", kTextOrList},
    KindRow{"think", kFlagOrText},
    KindRow{"thinking", kObject},
    KindRow{"thinking_token_budget", kCount},
    KindRow{"timeout_ms", kCount},
    KindRow{"tokens", kIds},
    KindRow{"tool_choice", kTextOrObject},
    KindRow{"tools", kObjects},
    KindRow{"top_logprobs", kUpTo20},
    KindRow{"top_n", kCount},
    KindRow{"truncate", kFlag},
    KindRow{"truncate_prompt_tokens", R"({"type": "integer", "minimum": -1})"},
    KindRow{"until", kCount},
    KindRow{"user", kText},
    KindRow{"with_pieces", kFlag},
    KindRow{"with_spans", kFlag},
};

}  // namespace

Json field_kind(const BodyTable& table, std::string_view name) {
  const auto row = std::ranges::find_if(kKinds, [&](const KindRow& one) {
    return one.name == name && (*one.table == '\0' || table.name == std::string_view(one.table));
  });
  return row == kKinds.end() ? Json::object() : *parse_json(row->kind, "kind of a field");
}

}  // namespace ruv
