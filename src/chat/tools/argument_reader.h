// ArgumentReader: reads the arguments of one call and gives them as JSON. One implementation for
// each way of writing them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/tools/schema_types.h"
#include "chat/tools/text_cursor.h"
#include "chat/tools/tool_dialect.h"
#include "chat/tools/tool_message.h"

namespace ruv {

// What a reader found besides the arguments.
using ToolWarnings = std::vector<ToolWarning>;

class ArgumentReader {
 public:
  virtual ~ArgumentReader() = default;
  // Reads what is there; appends to `json` what is certain. `bad`: nothing more is read, and what
  // was appended is void.
  virtual ReadStep read(TextCursor& text, std::string& json, ToolWarnings& warnings) = 0;
};

// A JSON object as it is.
std::unique_ptr<ArgumentReader> make_json_reader();
// Tagged values. `ends`: marks that may follow the last value. `dialect` must outlive the reader.
std::unique_ptr<ArgumentReader> make_tagged_reader(const ToolDialect& dialect, SchemaPlace schema,
                                                   std::vector<std::string_view> ends);
std::unique_ptr<ArgumentReader> make_nested_reader(const ToolDialect& dialect, SchemaPlace schema,
                                                   std::vector<std::string_view> ends);
std::unique_ptr<ArgumentReader> make_literal_reader(const ToolDialect& dialect);

// The JSON of a value that was written as bare text, by the types that its schema allows: a text
// stays a text where texts are allowed; else JSON, and what models write for it.
// `has_quotes`: texts are JSON, too.
std::string json_of_text(std::string_view text, TypeSet types, uint64_t offset,
                         ToolWarnings& warnings, bool has_quotes = false);

}  // namespace ruv
