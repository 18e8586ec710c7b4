// A format becomes an expression of Lark. Tags become rules, so that an expression stays short, and
// free text a terminal that leaves out what would end it: the end of the tag around it, or a
// trigger. So where a trigger occurs a tag must follow, and no text can be read in two ways.
#include "net/openai/structural_tag.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/lark_writer.h"
#include "net/openai/fields.h"

namespace ruv {
namespace {

using Texts = std::vector<std::string>;

tl::unexpected<ApiError> wrong(const std::string& field, std::string_view why) {
  return tl::unexpected(bad_request(field, fmt::format("'{}' {}", field, why)));
}

ApiResult<const Json*> member(const Json& object, const std::string& field, const char* name) {
  const Json* found = find_field(object, name);
  if (found == nullptr) return missing_field(field + "." + name);
  return found;
}

// Fails where the member is missing or of another type.
ApiResult<std::string> text_of_tag(const Json& object, const std::string& field, const char* name) {
  const Json& text = *TRY(member(object, field, name));
  if (!text.is_string()) return wrong_type(field + "." + name, "a string", text);
  return std::string(text.text());
}

// At least one element.
ApiResult<const Json*> list_member(const Json& object, const std::string& field, const char* name) {
  const Json* list = TRY(member(object, field, name));
  if (!list->is_array() || list->empty()) return wrong_type(field + "." + name, "a list", *list);
  return list;
}

// Texts that are not empty.
ApiResult<Texts> texts_of(const Json& list, const std::string& field) {
  Texts texts;
  for (const Json& text : list) {
    if (!text.is_string() || text.empty()) return wrong_type(field, "a list of texts", text);
    texts.emplace_back(text.text());
  }
  return texts;
}

// A regular expression between slashes.
std::string slashed(std::string_view pattern) {
  std::string made = "/";
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\n') {
      made += "\\n";
      continue;
    }
    if (pattern[i] == '/') made += '\\';
    made += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) made += pattern[++i];
  }
  return made + '/';
}

class TagGrammar {
 public:
  ApiResult<std::string> run(const std::string& field, const Json& value) {
    const bool is_old = find_field(value, "structures") != nullptr;
    const std::string start =
        is_old ? TRY(structures(value, field)) : TRY(new_format(value, field));
    rule("start", start);
    return std::move(text_);
  }

 private:
  void rule(const std::string& name, const std::string& body) {
    text_ += fmt::format("{}: {}\n", name, body);
  }

  // The name of a terminal of all texts in which none of these occurs.
  std::string text_without(const Texts& texts) {
    const std::string name = fmt::format("TEXT{}", n_texts_++);
    std::string body = "/.*/s";
    for (const std::string& text : texts) {
      body += fmt::format(" & ~/.*{}.*/s", escaped_pattern(text));
    }
    rule(name, body);
    return name;
  }

  // A value of the schema, as JSON.
  static ApiResult<std::string> schema(const Json& schema, const std::string& field) {
    if (!schema.is_object() && !schema.is_boolean()) {
      return wrong_type(field, "a JSON schema", schema);
    }
    return "%json " + schema.dump();
  }

  // Members besides the type that a format may have.
  static ApiResult<void> check_members(const Json& value, const std::string& field,
                                       std::string_view type) {
    constexpr std::pair<std::string_view, std::string_view> kMembers[] = {
        {"const_string", "value"},
        {"json_schema", "json_schema"},
        {"regex", "pattern"},
        {"any_text", "excludes"},
        {"sequence", "elements"},
        {"or", "elements"},
        {"tag", "begin content end"},
        {"triggered_tags", "triggers tags at_least_one stop_after_first excludes"},
        {"tags_with_separator", "tags separator at_least_one stop_after_first"}};
    const auto known =
        std::ranges::find(kMembers, type, &std::pair<std::string_view, std::string_view>::first);
    if (known == std::end(kMembers)) return {};
    const std::string allowed = fmt::format(" type {} ", known->second);
    for (const auto& [key, part] : value.items()) {
      if (allowed.find(fmt::format(" {} ", key)) != std::string::npos) continue;
      return tl::unexpected(bad_request(fmt::format("{}.{}", field, key),
                                        fmt::format("'{}.{}' is not known", field, key),
                                        "unknown_field"));
    }
    return {};
  }

  // {"format": {"type", …}}.
  ApiResult<std::string> new_format(const Json& value, const std::string& field) {
    constexpr FieldRow kRows[] = {{"type", FieldUse::honoured, ""},
                                  {"format", FieldUse::honoured, ""}};
    TRY(check_fields(value, kRows, field + "."));
    return format(*TRY(member(value, field, "format")), field + ".format", {});
  }

  // {"structures": [{"begin", "schema", "end"}], "triggers": […]}.
  ApiResult<std::string> structures(const Json& value, const std::string& field) {
    constexpr FieldRow kRows[] = {{"type", FieldUse::honoured, ""},
                                  {"structures", FieldUse::honoured, ""},
                                  {"triggers", FieldUse::honoured, ""}};
    TRY(check_fields(value, kRows, field + "."));
    const Json& list = *TRY(list_member(value, field, "structures"));
    Json tags = Json::array();
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string place = fmt::format("{}.structures[{}]", field, i);
      if (!list[i].is_object()) return wrong_type(place, "an object", list[i]);
      constexpr FieldRow kTagRows[] = {{"begin", FieldUse::honoured, ""},
                                       {"schema", FieldUse::honoured, ""},
                                       {"end", FieldUse::honoured, ""}};
      TRY(check_fields(list[i], kTagRows, place + "."));
      std::string begin = TRY(text_of_tag(list[i], place, "begin"));
      const Json* const schema = TRY(member(list[i], place, "schema"));
      std::string end = TRY(text_of_tag(list[i], place, "end"));
      tags.push_back(Json{{"begin", std::move(begin)},
                          {"content", {{"type", "json_schema"}, {"json_schema", *schema}}},
                          {"end", std::move(end)}});
    }
    const Json same = {{"type", "triggered_tags"},
                       {"tags", std::move(tags)},
                       {"triggers", *TRY(list_member(value, field, "triggers"))}};
    return triggered_tags(same, field, {});
  }

  // `ends`: texts that end what is around the format, which free text in it cannot have.
  ApiResult<std::string> format(const Json& value, const std::string& field, const Texts& ends) {
    if (!value.is_object()) return wrong_type(field, "an object", value);
    const std::string type = TRY(text_of_tag(value, field, "type"));
    TRY(check_members(value, field, type));
    if (type == "const_string") return lark_quoted(TRY(text_of_tag(value, field, "value")));
    if (type == "json_schema") {
      return schema(*TRY(member(value, field, "json_schema")), field + ".json_schema");
    }
    if (type == "regex") {
      return slashed(TRY(text_of_tag(value, field, "pattern")));
    }
    if (type == "any_text") return any_text(value, field, ends);
    if (type == "sequence" || type == "or") return elements(value, field, type == "or", ends);
    if (type == "tag") return tag(value, field);
    if (type == "triggered_tags") return triggered_tags(value, field, ends);
    if (type == "tags_with_separator") return separated_tags(value, field);
    return wrong(field + ".type", fmt::format("is '{}', which is not supported", type));
  }

  // Text up to what ends it.
  ApiResult<std::string> any_text(const Json& value, const std::string& field, Texts ends) {
    TRY(add_excludes(value, field, ends));
    return text_without(ends);
  }

  // Texts that free text must not have besides those that end it.
  static ApiResult<void> add_excludes(const Json& value, const std::string& field, Texts& ends) {
    const Json* excludes = find_field(value, "excludes");
    if (excludes == nullptr) return {};
    if (!excludes->is_array()) return wrong_type(field + ".excludes", "a list", *excludes);
    for (std::string& text : TRY(texts_of(*excludes, field + ".excludes"))) {
      ends.push_back(std::move(text));
    }
    return {};
  }

  // One format after the other, or one of them.
  ApiResult<std::string> elements(const Json& value, const std::string& field, bool is_choice,
                                  const Texts& ends) {
    const Json& list = *TRY(list_member(value, field, "elements"));
    std::string made;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string one = TRY(format(list[i], fmt::format("{}.elements[{}]", field, i), ends));
      made += fmt::format("{}({})", i == 0 ? "" : is_choice ? " | " : " ", one);
    }
    return is_choice ? fmt::format("({})", made) : made;
  }

  // Its end is a text, or one of several.
  ApiResult<std::string> tag(const Json& value, const std::string& field) {
    if (!value.is_object()) return wrong_type(field, "an object", value);
    const std::string begin = TRY(text_of_tag(value, field, "begin"));
    const Json& end = *TRY(member(value, field, "end"));
    Texts ends;
    if (end.is_string()) ends.emplace_back(end.text());
    if (end.is_array() && !end.empty()) ends = TRY(texts_of(end, field + ".end"));
    if (ends.empty()) return wrong_type(field + ".end", "a text or a list of texts", end);
    std::string last;
    for (const std::string& text : ends) last += (last.empty() ? "" : " | ") + lark_quoted(text);
    std::erase(ends, "");
    const std::string content =
        TRY(format(*TRY(member(value, field, "content")), field + ".content", ends));
    const std::string name = fmt::format("tag{}", n_tags_++);
    rule(name, fmt::format("{} ({}) ({})", lark_quoted(begin), content, last));
    return name;
  }

  // The choice of all tags, each of which begins with one of the texts.
  ApiResult<std::string> tags(const Json& value, const std::string& field, const Texts* begins) {
    const Json& list = *TRY(list_member(value, field, "tags"));
    std::string made;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string place = fmt::format("{}.tags[{}]", field, i);
      const std::string name = TRY(tag(list[i], place));
      const std::string_view begin = list[i].at("begin").text();
      const auto is_begun = [&](const std::string& text) { return begin.starts_with(text); };
      if (begins != nullptr && std::ranges::none_of(*begins, is_begun)) {
        return wrong(place + ".begin", "begins with none of the triggers");
      }
      made += (made.empty() ? "" : " | ") + name;
    }
    return fmt::format("({})", made);
  }

  // Text in which no trigger occurs, and tags.
  ApiResult<std::string> triggered_tags(const Json& value, const std::string& field, Texts ends) {
    const Texts triggers =
        TRY(texts_of(*TRY(list_member(value, field, "triggers")), field + ".triggers"));
    const std::string one = TRY(tags(value, field, &triggers));
    ends.insert(ends.end(), triggers.begin(), triggers.end());
    TRY(add_excludes(value, field, ends));
    const std::string text = text_without(ends);
    const bool needs_one = TRY(read_flag(value, "at_least_one", false));
    const bool stops = TRY(read_flag(value, "stop_after_first", false));
    if (stops) return fmt::format("{} {}{}", text, one, needs_one ? "" : "?");
    return fmt::format("{} ({} {}){}", text, one, text, needs_one ? "+" : "*");
  }

  // Tags with the separator between two, and nothing else.
  ApiResult<std::string> separated_tags(const Json& value, const std::string& field) {
    const std::string one = TRY(tags(value, field, nullptr));
    const std::string separator = lark_quoted(TRY(text_of_tag(value, field, "separator")));
    const bool needs_one = TRY(read_flag(value, "at_least_one", false));
    const bool stops = TRY(read_flag(value, "stop_after_first", false));
    const std::string more = stops ? "" : fmt::format(" ({} {})*", separator, one);
    return fmt::format("({}{}){}", one, more, needs_one ? "" : "?");
  }

  std::string text_;
  size_t n_texts_ = 0;
  size_t n_tags_ = 0;
};

}  // namespace

ApiResult<std::string> structural_tag_grammar(const std::string& field, const Json& value) {
  if (!value.is_string()) {
    if (!value.is_object()) return wrong_type(field, "an object", value);
    return TagGrammar().run(field, value);
  }
  const auto read = parse_json(value.text(), field);
  if (!read || !read->is_object()) return wrong(field, "is not the text of a JSON object");
  return TagGrammar().run(field, *read);
}

}  // namespace ruv
