// The fields of the OpenAI request bodies: one row each, saying what this server does with it.
// A field without a row is refused, so none is ignored in silence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "net/api_error.h"
#include "ruv/token.h"

namespace ruv {

// What this server does with a field.
enum class FieldUse {
  honoured,
  no_effect,    // accepted, documented to change nothing
  unsupported,  // refused by name unless null or neutral
};

// The same, for tables.
inline constexpr FieldUse kHonoured = FieldUse::honoured;
inline constexpr FieldUse kNoEffect = FieldUse::no_effect;
inline constexpr FieldUse kUnsupported = FieldUse::unsupported;

struct FieldRow {
  const char* name;
  FieldUse use;
  const char* doc;
  // Values that ask for nothing, as a JSON list: with one of them a field counts as absent, whether
  // it is supported or not. Null is one of every field's.
  const char* neutral = "[]";
};

// Whether the value asks for nothing. Numbers compare by value.
bool is_neutral(const FieldRow& row, const Json& value);
// The neutral values as they are written: "false or 0".
std::string accepted_values(const FieldRow& row);

// The fields of one kind of body.
struct BodyTable {
  const char* name;  // as the page has it
  std::span<const FieldRow> rows;
  size_t max_values;
  // Whether the rows of the options table (ruv/options.h) are fields, too.
  bool has_options = false;
};

const BodyTable& chat_fields();
const BodyTable& completion_fields();
const BodyTable& embedding_fields();
const BodyTable& rerank_fields();
const BodyTable& score_fields();
// Those that say how a chat template writes a conversation; tools are named only where they work.
const BodyTable& template_fields();
const BodyTable& tokenize_fields();
const BodyTable& detokenize_fields();
const BodyTable& session_fields();
// POST /v1/models/load and /v1/models/unload.
const BodyTable& model_fields();
// POST /v1/load_lora_adapter and /v1/unload_lora_adapter.
const BodyTable& load_adapter_fields();
const BodyTable& unload_adapter_fields();
// POST /v1/feedback and /v1/feedback/undo.
const BodyTable& feedback_fields();
const BodyTable& undo_fields();
std::span<const FieldRow> message_fields();

// Whether the table has a row of this name.
bool has_row(const BodyTable& table, std::string_view name);
// Whether a row of the options table (ruv/options.h) is set by its own name in request bodies;
// such fields need no row here.
bool is_plain_option(std::string_view name);
// Whether bodies of the table set such a row. Not where the table refuses it by a row of its own.
bool takes_option(const BodyTable& table, std::string_view name);

// Fails with 400 for the first member of `object` that is unknown, or not supported with a value
// that asks for something. `where` is put before the name: "messages[0].".
ApiResult<void> check_fields(const Json& object, std::span<const FieldRow> rows,
                             std::string_view where = {});

// A list of token ids with at least one. Fails: 400 naming `where`.
ApiResult<std::vector<Token>> read_tokens(const Json& ids, const std::string& where);

// Values in a body. Lists of ids are a few bytes a value and cheap; what a chat template sees is
// copied and walked, so conversations may have far fewer.
inline constexpr size_t kMaxIdValues = size_t{4} << 20;
inline constexpr size_t kMaxConversationValues = size_t{128} << 10;

// A body that is a JSON object, nested 100 deep at most. Fails: 400.
ApiResult<Json> parse_object(std::string_view body, const BodyTable& table);
// Fails as check_fields. Members with neutral values are taken out.
ApiResult<void> check_body(Json& body, const BodyTable& table);
// Both.
ApiResult<Json> parse_body(std::string_view body, const BodyTable& table);

}  // namespace ruv
