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
  unsupported,  // refused by name unless null or a value that asks for nothing
};

struct FieldRow {
  const char* name;
  FieldUse use;
  const char* doc;
  // For unsupported fields: whether the value asks for nothing. Null: only JSON null does.
  bool (*asks_nothing)(const Json& value) = nullptr;
};

std::span<const FieldRow> chat_fields();
std::span<const FieldRow> completion_fields();
std::span<const FieldRow> embedding_fields();
std::span<const FieldRow> rerank_fields();
std::span<const FieldRow> score_fields();
std::span<const FieldRow> message_fields();
// Those that say how a chat template writes a conversation; tools are named only where they work.
std::span<const FieldRow> template_fields();
std::span<const FieldRow> tokenize_fields();
std::span<const FieldRow> detokenize_fields();

// Whether a row of the options table (ruv/options.h) is set by its own name in request bodies;
// such fields need no row here.
bool is_plain_option(std::string_view name);

enum class PlainOptions { unknown, known };

// Fails with 400 for the first member of `object` that is unknown or not supported. `where` is put
// before the name: "messages[0].".
ApiResult<void> check_fields(const Json& object, std::span<const FieldRow> rows,
                             std::string_view where = {},
                             PlainOptions options = PlainOptions::unknown);

// A list of token ids with at least one. Fails: 400 naming `where`.
ApiResult<std::vector<Token>> read_tokens(const Json& ids, const std::string& where);

// Values in a body. Lists of ids are a few bytes a value and cheap; what a chat template sees is
// copied and walked, so conversations may have far fewer.
inline constexpr size_t kMaxIdValues = size_t{4} << 20;
inline constexpr size_t kMaxConversationValues = size_t{128} << 10;

// A body that is a JSON object with known fields only, nested 32 deep at most.
ApiResult<Json> parse_body(std::string_view body, std::span<const FieldRow> rows, size_t max_values,
                           PlainOptions options = PlainOptions::unknown);

}  // namespace ruv
