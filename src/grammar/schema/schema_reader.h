// SchemaReader: reads schemas of JSON Schema, drafts 4 to 2020-12, into SchemaNodes. Each keyword
// is read, is an annotation (its meaning leaves all values as they are), is noted because it is not
// enforced, or is refused.
#pragma once

#include <deque>
#include <span>

#include "base/result.h"
#include "grammar/schema/formats.h"
#include "grammar/schema/schema_index.h"
#include "grammar/schema/schema_node.h"

namespace ruv {

// A keyword that is not enforced.
struct SchemaNote {
  std::string pointer;  // of the keyword in its document
  std::string keyword;
  std::string reason;
  bool operator==(const SchemaNote&) const = default;
};

class SchemaReader {
 public:
  // References must outlive the object, and the documents of `index`, too.
  SchemaReader(Goals& goals, Formats& formats, const SchemaIndex& index);

  // Reads a schema and all that it needs. Fails: corrupt (a keyword has a value of a wrong type),
  // unsupported (a reference to something that was not given, a pattern that is no regular
  // language, a schema that refers to itself without an end). Messages begin with the place.
  Result<SchemaNumber> read(const SchemaIndex::Place& place);

  const SchemaNode& node(SchemaNumber number) const { return nodes_[number].node; }
  size_t n_nodes() const { return nodes_.size(); }
  std::span<const SchemaNote> notes() const { return notes_; }

 private:
  struct Keyword;
  // The resources that references passed, where dynamic anchors are in use.
  using Scope = uint32_t;
  struct Entry {
    const Json* json;
    uint32_t resource;
    Scope scope;
    SchemaNumber parent;    // kNoSchema: a root
    std::string_view step;  // from the parent; valid as long as the documents
    SchemaNode node;
  };
  // The table of keywords, by name.
  static std::span<const Keyword> keywords();

  // The number of the schema at a place, seen from a scope. `parent` and `step` say where it was
  // first met, for messages.
  SchemaNumber number_of(const SchemaIndex::Place& place, Scope scope, SchemaNumber parent,
                         std::string_view step);
  Status read_node(SchemaNumber number);
  Status read_keyword(SchemaNumber number, std::string_view name, const Json& value);
  // Fails where schemas apply each other to the same value in a circle.
  Status check_loops();

  // What readers of keywords use. `at` is the schema whose keyword it is.
  SchemaNumber child(SchemaNumber at, const Json& json, std::string_view step);
  Result<std::vector<SchemaNumber>> children(SchemaNumber at, const Json& list,
                                             std::string_view step);
  // "#/a/minLength: must be …".
  tl::unexpected<Status> wrong(SchemaNumber at, std::string_view keyword, std::string_view wanted);
  std::string place_text(SchemaNumber at, std::string_view keyword) const;
  Result<uint32_t> count(SchemaNumber at, std::string_view keyword, const Json& value);
  // Adds a keyword that is not enforced.
  void note(SchemaNumber at, std::string_view keyword, std::string reason);
  // Strings in which the pattern matches somewhere.
  Result<Language> pattern(SchemaNumber at, std::string_view keyword, std::string_view text);
  // The scope after a reference into a resource.
  Scope entered(Scope scope, uint32_t resource);
  const Json& json(SchemaNumber at) const { return *nodes_[at].json; }
  SchemaNode& made(SchemaNumber at) { return nodes_[at].node; }
  SchemaDraft draft(SchemaNumber at) const { return index_.resource(nodes_[at].resource).draft; }

  // Groups of keywords. `name` is the keyword, `value` what it has. Each adds to the node of `at`;
  // keywords that depend on others look these up in the schema itself, so their order does not
  // matter.
  Status read_type(SchemaNumber at, const Json& value);
  Status read_values(SchemaNumber at, std::string_view name, const Json& value);
  Status read_bound(SchemaNumber at, std::string_view name, const Json& value);
  Status read_multiple(SchemaNumber at, const Json& value);
  Status read_string(SchemaNumber at, std::string_view name, const Json& value);
  Status read_item_keyword(SchemaNumber at, std::string_view name, const Json& value);
  Status read_items(SchemaNumber at, std::string_view name, const Json& value);
  Status read_member_keyword(SchemaNumber at, std::string_view name, const Json& value);
  Status read_properties(SchemaNumber at, const Json& value);
  Status read_additional(SchemaNumber at);
  Status read_dependencies(SchemaNumber at, std::string_view name, const Json& value);
  Result<std::vector<KeyName>> read_names(SchemaNumber at, std::string_view name,
                                          const Json& value);
  Status read_choice(SchemaNumber at, std::string_view name, const Json& value);
  Status read_reference(SchemaNumber at, std::string_view name, const Json& value);

  Goals& goals_;
  Formats& formats_;
  const SchemaIndex& index_;
  std::deque<Entry> nodes_;
  std::unordered_map<uint64_t, SchemaNumber> numbers_;  // by schema and scope
  std::vector<std::vector<uint32_t>> scopes_ = {{}};
  std::vector<SchemaNote> notes_;
  size_t n_read_ = 0;
};

}  // namespace ruv
