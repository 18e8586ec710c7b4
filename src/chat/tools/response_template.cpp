// A field of a response template is a region between an opening and a closing mark, what its
// content is (JSON, tags), and a transform: the message's member with places for what was found.
// So the transform says where the name and the arguments of a call come from, and with the marks
// that is a dialect.
#include "chat/tools/response_template.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/response_pattern.h"

namespace ruv {
namespace {

using Pieces = std::vector<PatternPiece>;
using PieceKind = PatternPiece::Kind;

template <class... Args>
tl::unexpected<Status> refused(const std::string& path, fmt::format_string<Args...> format,
                               Args&&... args) {
  return fail(Code::unsupported, "response_template: {}: {}", path,
              fmt::format(format, std::forward<Args>(args)...));
}

Status check_members(const Json& object, const std::string& path,
                     std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return refused(path, "must be an object, not {}", object.type_name());
  for (const auto [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end())
      return refused(path, "unknown member '{}'", key);
  }
  return {};
}

// A field of the template, with the path that errors name.
class TemplateField {
 public:
  TemplateField(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const Json& operator[](std::string_view name) const { return json_[name]; }

  Status check() const {
    TRY(check_members(json_, path_,
                      {"open", "open_pattern", "close", "close_pattern", "content", "content_args",
                       "repeats", "join", "optional", "transform", "transform_each"}));
    for (const char* name : {"repeats", "optional", "transform_each"}) {
      const Json& flag = json_[name];
      if (!flag.is_null() && !flag.is_boolean())
        return refused(path_, "'{}' must be true or false", name);
    }
    if (!json_["join"].is_null()) return refused(path_, "'join': parts are put together unchanged");
    return {};
  }

  // A text between marks, without anything made of it.
  Status check_text() const {
    if (TRY(content()) != "text") return refused(path_, "'content' must be 'text' here");
    for (const char* name : {"transform", "content_args"}) {
      if (!json_[name].is_null()) return refused(path_, "'{}' of a text", name);
    }
    return {};
  }

  bool flag(std::string_view name) const {
    return json_[name].is_boolean() && json_[name].get<bool>();
  }

  Result<std::string> content() const {
    const Json& content = json_["content"];
    if (content.is_null()) return std::string("text");
    if (!content.is_string()) return refused(path_, "'content' must be a text");
    return content.get<std::string>();
  }

  // The pieces of a mark, "open" or "close"; none where the field has none.
  Result<Pieces> mark(const std::string& name) const {
    const Json& literal = json_[name];
    const Json& pattern = json_[name + "_pattern"];
    if (!literal.is_null() && !pattern.is_null())
      return refused(path_, "both '{0}' and '{0}_pattern'", name);
    if (!pattern.is_null()) {
      if (!pattern.is_string()) return refused(path_, "'{}_pattern' must be a text", name);
      auto pieces = read_response_pattern(pattern.text());
      if (!pieces) return refused(path_, "'{}_pattern': {}", name, pieces.error().message());
      return pieces;
    }
    if (literal.is_null()) return Pieces();
    const Json* only = &literal;
    if (literal.is_array() && literal.size() == 1) only = &literal.front();
    if (literal.is_array() && literal.size() > 1)
      return refused(path_, "'{}' has several texts, of which one mark is expected", name);
    if (!only->is_string() || only->empty()) return refused(path_, "'{}' must be a text", name);
    return Pieces{{PieceKind::text, only->get<std::string>()}};
  }

 private:
  const Json& json_;
  std::string path_;
};

// The names in a placeholder "{content.name}"; none: the text is not one.
std::vector<std::string> placeholder(const Json& value) {
  if (!value.is_string()) return {};
  std::string_view text = value.text();
  if (text.size() < 3 || text.front() != '{' || text.back() != '}') return {};
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == '.') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  const bool whole = std::ranges::none_of(names, [](const auto& name) { return name.empty(); });
  return whole ? names : std::vector<std::string>();
}

// The text of pieces without captures, with a line break where whitespace may be.
std::optional<std::string> plain_text(const Pieces& pieces) {
  std::string text;
  for (const PatternPiece& piece : pieces) {
    if (piece.kind == PieceKind::capture) return std::nullopt;
    text += piece.kind == PieceKind::space ? "\n" : piece.text;
  }
  return text;
}

// Makes a dialect from the field of calls.
class CallsReader {
 public:
  explicit CallsReader(const TemplateField& field) : field_(field) {}

  Result<ToolDialect> run() {
    dialect_.name = "response_template";
    dialect_.shape = ToolDialect::Shape::marked;
    dialect_.parallel = field_.flag("repeats") || field_.flag("transform_each");
    const Pieces open = TRY(field_.mark("open"));
    const Pieces close = TRY(field_.mark("close"));
    if (mark_text(open).empty()) return refused(field_.path(), "calls need an opening mark");
    for (const PatternPiece& piece : open) {
      if (piece.kind == PieceKind::capture) captures_.push_back(piece.text);
    }
    TRY(read_transform());
    // Whitespace before the mark belongs to no text.
    const PatternPiece& first = open.front();
    if (first.kind == PieceKind::space || first.text.starts_with('\n')) dialect_.gap = "\n";
    const std::vector<CallPart> begin = parts_of(open);
    const std::vector<CallPart> end = parts_of(close);
    if (!field_.flag("transform_each")) {
      add(dialect_.call, begin);
      TRY(read_content());
      add(dialect_.call, end);
      return std::move(dialect_);
    }
    if (!captures_.empty()) return refused(field_.path(), "a list of calls after a named group");
    dialect_.section_begin = begin;
    dialect_.section_begin.push_back({CallPartKind::mark, "["});
    TRY(read_content());
    dialect_.separator = ", ";
    dialect_.section_end = {{CallPartKind::mark, "]"}};
    add(dialect_.section_end, end);
    return std::move(dialect_);
  }

 private:
  static void add(std::vector<CallPart>& to, const std::vector<CallPart>& parts) {
    to.insert(to.end(), parts.begin(), parts.end());
  }

  static std::string mark_text(const Pieces& pieces) {
    for (const PatternPiece& piece : pieces) {
      const std::string_view core = mark_core(piece.text);
      if (piece.kind == PieceKind::text && !core.empty()) return std::string(core);
    }
    return {};
  }

  // Whitespace may be around every mark, so it needs no part of its own.
  std::vector<CallPart> parts_of(const Pieces& pieces) const {
    std::vector<CallPart> parts;
    for (const PatternPiece& piece : pieces) {
      if (piece.kind == PieceKind::text && !mark_core(piece.text).empty())
        parts.push_back({CallPartKind::mark, piece.text});
      if (piece.kind != PieceKind::capture) continue;
      parts.push_back({piece.text == name_capture_ ? CallPartKind::name
                       : piece.text == id_capture_ ? CallPartKind::id
                                                   : CallPartKind::skipped});
    }
    return parts;
  }

  bool is_capture(const std::vector<std::string>& path) const {
    return path.size() == 1 && std::ranges::find(captures_, path[0]) != captures_.end();
  }

  // The key that a placeholder names in the content; empty: it is something else.
  std::string key_of(const std::vector<std::string>& path) const {
    if (field_.flag("transform_each"))
      return path.size() == 1 && !is_capture(path) ? path[0] : std::string();
    return path.size() == 2 && path[0] == "content" ? path[1] : std::string();
  }

  // Where the name, the arguments and the id of a call come from.
  Status read_transform() {
    const std::string path = field_.path() + ".transform";
    const Json& transform = field_["transform"];
    TRY(check_members(transform, path, {"type", "function", "id"}));
    const Json& type = transform["type"];
    if (!type.is_null() && type != Json("function"))
      return refused(path + ".type", "is {}, not \"function\"", type.dump());
    const Json& function = transform["function"];
    const auto whole = placeholder(function);
    if (whole == std::vector<std::string>{"content"}) {
      dialect_.keys = {.name = {"name"}, .arguments = {"arguments"}};
    } else {
      TRY(check_members(function, path + ".function", {"name", "arguments"}));
      const auto name = placeholder(function["name"]);
      const auto arguments = placeholder(function["arguments"]);
      if (is_capture(name) && arguments == std::vector<std::string>{"content"}) {
        name_capture_ = name[0];
      } else if (!key_of(name).empty() && !key_of(arguments).empty()) {
        dialect_.keys = {.name = {key_of(name)}, .arguments = {key_of(arguments)}};
      } else {
        return refused(path + ".function",
                       "the name and the arguments come from neither a named "
                       "group nor members of the content");
      }
    }
    const Json& id = transform["id"];
    if (id.is_null()) return {};
    const auto place = placeholder(id);
    if (is_capture(place)) {
      id_capture_ = place[0];
    } else if (!dialect_.keys.name.empty() && !key_of(place).empty()) {
      dialect_.keys.id = {key_of(place)};
    } else {
      return refused(path + ".id", "comes from neither a named group nor a member");
    }
    return {};
  }

  Status read_content() {
    const std::string content = TRY(field_.content());
    const std::string path = field_.path() + ".content_args";
    const Json& args = field_["content_args"];
    const bool is_object = !dialect_.keys.name.empty();
    if (content == "json") {
      if (!args.is_null())
        TRY(check_members(args, path, {"unquoted_keys", "string_delims", "allow_non_json"}));
      const bool literals = !args["unquoted_keys"].is_null() || !args["string_delims"].is_null();
      if (literals) return read_literals(args, path);
      dialect_.call.push_back({is_object ? CallPartKind::object : CallPartKind::json});
      return {};
    }
    if (content != "xml-inline" || is_object)
      return refused(field_.path(), "calls with the content '{}'", content);
    TRY(check_members(args, path, {"tag_pattern", "value_parser"}));
    return read_tags(args, path);
  }

  // Keys without quotes, and texts between quotes of the model's own.
  Status read_literals(const Json& args, const std::string& path) {
    const Json& quotes = args["string_delims"];
    const bool bare_keys = args["unquoted_keys"].is_boolean() && args["unquoted_keys"].get<bool>();
    const Json& quote = quotes.is_array() && quotes.size() == 1 ? quotes.front() : Json::array();
    const bool is_pair = quote.is_array() && quote.size() == 2 && quote.front().is_string() &&
                         quote.front() == quote.back() && !quote.front().empty();
    if (name_capture_.empty() || !bare_keys || !is_pair)
      return refused(path, "texts need one kind of quotes, the same at both ends, and keys none");
    dialect_.literals = {
        .open = '{', .close = '}', .assign = ':', .quote = quote.front().get<std::string>()};
    dialect_.call.push_back({CallPartKind::literals});
    return {};
  }

  // begin key middle value end
  Status read_tags(const Json& args, const std::string& path) {
    const Json& pattern = args["tag_pattern"];
    if (!pattern.is_string()) return refused(path, "'tag_pattern' must be a text");
    auto pieces = read_response_pattern(pattern.text());
    if (!pieces) return refused(path, "'tag_pattern': {}", pieces.error().message());
    const auto capture = [&](const char* name) {
      return std::ranges::find(*pieces, PatternPiece{PieceKind::capture, name});
    };
    const auto key = capture("key");
    const auto value = capture("value");
    if (key == pieces->end() || value == pieces->end() || key > value)
      return refused(path, "'tag_pattern' needs the groups 'key' and 'value', in this order");
    const auto begin = plain_text({pieces->begin(), key});
    const auto middle = plain_text({key + 1, value});
    const auto end = plain_text({value + 1, pieces->end()});
    const bool marks = begin && middle && end && !mark_core(*begin).empty() &&
                       !mark_core(*middle).empty() && !mark_core(*end).empty();
    if (!marks) return refused(path, "'tag_pattern' needs marks around 'key' and 'value'");
    const TagValue kind = TRY(value_kind(args["value_parser"], path + ".value_parser"));
    dialect_.tagged.begin = mark_core(*begin);
    dialect_.tagged.forms = {{*middle, *end, kind}};
    dialect_.call.push_back({CallPartKind::tagged});
    return {};
  }

  // Values without a parser are texts that the tool's schema turns into other types.
  static Result<TagValue> value_kind(const Json& parser, const std::string& path) {
    if (parser.is_null()) return TagValue::by_schema;
    TRY(check_members(parser, path, {"name", "args"}));
    const Json& name = parser["name"];
    if (name == Json("text")) return TagValue::by_schema;
    if (name != Json("json")) return refused(path, "only 'text' and 'json' are understood");
    const Json& lax = parser["args"].is_object() ? parser["args"]["allow_non_json"] : Json();
    return lax.is_boolean() && lax.get<bool>() ? TagValue::by_schema : TagValue::json;
  }

  const TemplateField& field_;
  ToolDialect dialect_;
  std::vector<std::string> captures_;
  std::string name_capture_, id_capture_;
};

// Marks that are known have more to them than the template says.
Result<ReasoningMarks> read_reasoning(const TemplateField& field) {
  const auto begin = plain_text(TRY(field.mark("open")));
  const auto end = plain_text(TRY(field.mark("close")));
  if (!begin || !end) return refused(field.path(), "marks of reasoning with named groups");
  if (mark_core(*end).empty()) return refused(field.path(), "reasoning needs a closing mark");
  TRY(field.check_text());
  for (const ReasoningMarks& known : reasoning_marks()) {
    if (mark_core(known.begin) == mark_core(*begin) && mark_core(known.end) == mark_core(*end))
      return known;
  }
  return ReasoningMarks{.begin = *begin, .end = *end};
}

// The text of an answer ends at the end of the turn, which the tokenizer knows; an opening mark
// and its end do not belong to it.
Status read_text_field(const TemplateField& field, std::vector<std::string>& strays) {
  TRY(field.check_text());
  if (field["open"].is_null() && field["open_pattern"].is_null()) return {};
  for (const char* name : {"open", "close"}) {
    const auto text = plain_text(TRY(field.mark(name)));
    if (!text) return refused(field.path(), "'{}' with named groups", name);
    if (!mark_core(*text).empty()) strays.emplace_back(mark_core(*text));
  }
  return {};
}

Result<DeclaredFormat> read_fields(const Json& fields) {
  DeclaredFormat declared;
  std::vector<std::string> strays;
  if (!fields.is_object() || fields.empty())
    return refused("fields", "must be an object with members");
  for (const auto [name, value] : fields.items()) {
    const TemplateField field(value, fmt::format("fields.{}", name));
    TRY(field.check());
    if (name == "tool_calls") {
      declared.calls = TRY(CallsReader(field).run());
    } else if (name == "reasoning_content" || name == "reasoning" || name == "thinking") {
      declared.reasoning = TRY(read_reasoning(field));
    } else if (name == "content") {
      TRY(read_text_field(field, strays));
    } else {
      return refused(field.path(), "messages have no such member");
    }
  }
  if (declared.calls) declared.calls->strays = strays;
  return declared;
}

}  // namespace

Result<DeclaredFormat> read_response_template(std::string_view json) {
  if (json.empty()) return DeclaredFormat();
  const Json spec = TRY(parse_json(json, "response_template"));
  TRY(check_members(spec, "its members",
                    {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"}));
  const Json& version = spec["version"];
  if (!version.is_null() && version != Json(1))
    return refused("version", "is {}, of which only 1 is known", version.dump());
  return read_fields(spec["fields"]);
}

}  // namespace ruv
