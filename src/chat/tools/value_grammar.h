// ValueGrammar: the grammar of a tool's arguments where they are not JSON: between tags, as nested
// elements, as literals of a programming language. What it lets a model write, the readers of
// arguments (argument_reader.h) read as values that are valid by the tool's schema.
//
// Arguments come in the order of the schema's properties, and only those that it names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "chat/tools/lark_writer.h"
#include "chat/tools/schema_cases.h"
#include "chat/tools/tool_dialect.h"

namespace ruv {

class ValueGrammar {
 public:
  // All must outlive it. `id`: a URI for the schema, where it has none.
  ValueGrammar(const ToolDialect& dialect, LarkWriter& lark, const Json& parameters,
               std::string id);

  // Items of a rule for all arguments. Fails: unsupported (what cannot be said in the format, by
  // keyword and place), invalid (no schema).
  Result<std::string> tagged_arguments();
  Result<std::string> nested_arguments();
  Result<std::string> literal_arguments();

 private:
  using Cases = std::vector<SchemaCase>;
  using Rule = Result<std::string>;
  using Marks = std::vector<std::string_view>;
  // A property that may be written.
  struct Member {
    std::string key;
    const Json* schema;
    bool required;
    std::string path;
    std::string text = {};  // items of a rule, once made
  };

  Result<std::vector<Member>> root_members() const;
  // The name of a new rule for the schema.
  std::string name_rule(const Json& schema);
  // Whether copies of the schema, one for each argument with references, are too large together.
  bool copies_too_large() const;
  Result<std::vector<Member>> members_of(const Json& object, const std::string& path) const;
  std::string chain(const std::vector<Member>& members, const std::string& separator,
                    bool may_be_empty);
  tl::unexpected<Status> unsupported(const std::string& path, std::string_view what) const;
  // "%json" of a schema of these types, whose texts do not hold `mark`.
  std::string json_value(Json schema, TypeSet types, std::string_view mark) const;
  Json with_references(const Json& schema, const std::string& path);
  Result<TextLimits> text_limits(const Json& schema, const std::string& path) const;

  // One way to write a value between tags; empty: this way cannot write it.
  Rule tagged_value(const Member& member, const TagForm& form);
  Rule bare_value(const Member& member, const Marks& marks);
  Marks marks_in(const TagForm& form) const;
  Result<std::vector<std::string>> bare_texts(const Cases& cases, TypeSet types, const Marks& marks,
                                              const std::string& path);
  static bool reads_as(const Json& value, TypeSet types);
  static std::string bare_text(const Json& value);
  static std::string one_of(const std::vector<std::string>& ways);

  // The name of a rule for the inside of an element.
  Rule nested_value(const Json& schema, const std::string& path, int depth);
  Rule nested_case(const SchemaCase& one, TypeSet types, const std::string& path, int depth);
  Rule nested_object(const SchemaCase& one, TypeSet types, const std::string& path, int depth);
  Rule nested_list(const SchemaCase& one, TypeSet types, const std::string& path, int depth);
  Result<std::string> element(const std::string& name, const std::string& inside,
                              const std::string& path) const;

  // The name of a rule for a literal.
  Rule literal_value(const Json& schema, const std::string& path, int depth);
  Rule literal_or_json(const Member& member);
  Rule literal_case(const SchemaCase& one, const std::string& path, int depth);
  Rule literal_text(const Json& schema, const std::string& path);
  Rule literal_list(const SchemaCase& one, const std::string& path, int depth);
  Rule literal_object(const SchemaCase& one, const std::string& path, int depth);
  Rule literal_constant(const Json& value, const std::string& path) const;
  std::string any_literal();
  std::string literal_key(const std::string& key, bool bare) const;
  bool is_python() const { return dialect_.literals.quote.empty(); }
  std::string list_of(const Json& schema, const std::string& item, const std::string& separator,
                      uint64_t least) const;

  const ToolDialect& dialect_;
  LarkWriter& lark_;
  const Json& root_;
  std::string id_;
  std::map<const Json*, std::string> rules_;  // of schemas
  std::vector<const Json*> ruled_;            // their keys, in order
  size_t n_root_ = 0;                         // bytes of the tool's whole schema; 0: not known yet
  size_t n_copied_ = 0;                       // … of all its copies
};

}  // namespace ruv
