// What surrounds a call is found by comparison. Before the first call is the beginning of the
// section and of a call, between two calls the end of a call, a separator and the beginning of the
// next, and after the last the end of a call and of the section. So the beginning of a call is what
// the texts before both calls end with, and the end of a call what the texts after both begin with.
#include "chat/tools/derive_dialect.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/json_scan.h"
#include "chat/tools/text_cursor.h"

namespace ruv {
namespace {

// Bytes [begin, end) of the answer.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
};

// A part of a call that differs from call to call.
struct FoundPart {
  CallPartKind kind = CallPartKind::name;
  TextRange range;
};

std::string_view common_prefix(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  return a.substr(0, static_cast<size_t>(end - a.begin()));
}

std::string_view common_suffix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < std::min(a.size(), b.size()) && a[a.size() - n - 1] == b[b.size() - n - 1]) ++n;
  return a.substr(a.size() - n);
}

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// Where the mark at the end of `text` begins, at `at` or later: texts that are equal may begin in
// the middle of the mark before, as in ">><<call ".
size_t mark_begin(std::string_view text, size_t at) {
  for (size_t i = at; i < text.size(); ++i) {
    const bool after_mark = i == 0 || is_mark_space(text[i - 1]) || is_one_of(text[i - 1], ">]})");
    if (after_mark && (i == 0 || !is_one_of(text[i], ">]})")) && !is_mark_space(text[i])) return i;
  }
  return at;
}

// The end of `text` that `other` ends with, too, from the beginning of a mark on.
std::string_view common_mark(std::string_view text, std::string_view other) {
  return text.substr(mark_begin(text, text.size() - common_suffix(text, other).size()));
}

// The end of the JSON object that begins at `at`; npos: there is none.
size_t object_end(std::string_view text, size_t at) {
  JsonScan scan;
  std::string same;
  for (size_t i = at; i < text.size(); ++i) {
    const JsonScan::Verdict verdict = scan.push(text[i], same);
    if (verdict == JsonScan::Verdict::done) return i + 1;
    if (verdict != JsonScan::Verdict::more) return std::string_view::npos;
  }
  return std::string_view::npos;
}

std::optional<TextRange> find_name(std::string_view text, const std::string& name, size_t from) {
  const size_t at = text.find(name, from);
  if (at == std::string_view::npos) return std::nullopt;
  return TextRange{at, at + name.size()};
}

// The first JSON object after `from` that has the call's arguments.
std::optional<TextRange> find_arguments(std::string_view text, const ToolCall& call, size_t from) {
  const auto wanted = parse_json(call.arguments, "arguments");
  for (size_t at = text.find('{', from); at != text.npos; at = text.find('{', at + 1)) {
    const size_t end = object_end(text, at);
    if (end == text.npos) continue;
    const auto found = parse_json(text.substr(at, end - at), "arguments");
    if (found && wanted && *found == *wanted) return TextRange{at, end};
  }
  return std::nullopt;
}

// The key of a member whose value begins at `at`; empty: no member's value begins there.
std::string key_before(std::string_view text, size_t at) {
  std::string_view before = text.substr(0, at);
  const auto trim = [&] {
    while (!before.empty() && is_mark_space(before.back())) before.remove_suffix(1);
  };
  trim();
  if (!before.ends_with(':')) return {};
  before.remove_suffix(1);
  trim();
  if (!before.ends_with('"')) return {};
  before.remove_suffix(1);
  const size_t open = before.rfind('"');
  return open == before.npos ? std::string() : std::string(before.substr(open + 1));
}

class Derivation {
 public:
  Derivation(std::string_view answer, std::string_view turn_end, std::span<const ToolCall> calls)
      : answer_(answer), turn_end_(turn_end), calls_(calls) {}

  std::optional<ToolDialect> run() {
    dialect_.shape = ToolDialect::Shape::marked;
    if (read_objects() || read_named_json() || read_tagged()) return dialect_;
    return std::nullopt;
  }

 private:
  // Calls that are objects: the name and the arguments are values of members.
  bool read_objects() {
    for (size_t i = 0; i < 2; ++i) {
      const size_t from = i == 0 ? 0 : found_[0][0].range.end;
      const auto name = find_name(answer_, calls_[i].name, from);
      if (!name || name->begin == 0) return false;
      const std::string name_key = key_before(answer_, name->begin - 1);
      const auto arguments = find_arguments(answer_, calls_[i], from);
      if (name_key.empty() || !arguments) return false;
      const std::string arguments_key = key_before(answer_, arguments->begin);
      const size_t open = answer_.rfind('{', std::min(name->begin, arguments->begin - 1));
      const size_t end = open == answer_.npos ? open : object_end(answer_, open);
      if (arguments_key.empty() || end == answer_.npos || end < arguments->end) return false;
      found_[i] = {{CallPartKind::object, {open, end}}};
      dialect_.keys.name = {name_key};
      dialect_.keys.arguments = {arguments_key};
      read_id_key({open, end}, calls_[i].id);
    }
    dialect_.name = "derived_object";
    return surround();
  }

  // The member of an object that holds the call's id.
  void read_id_key(TextRange object, const std::string& id) {
    const auto place = find_name(answer_, id, object.begin);
    if (!place || id.empty() || place->end > object.end) return;
    const std::string key = key_before(answer_, place->begin - 1);
    if (!key.empty()) dialect_.keys.id = {key};
  }

  // A name, a text, and a JSON object.
  bool read_named_json() {
    for (size_t i = 0; i < 2; ++i) {
      const size_t from = i == 0 ? 0 : found_[0].back().range.end;
      const auto name = find_name(answer_, calls_[i].name, from);
      const auto arguments = name ? find_arguments(answer_, calls_[i], name->end) : std::nullopt;
      if (!arguments) return false;
      found_[i] = {{CallPartKind::name, *name}, {CallPartKind::json, *arguments}};
      add_id(i, from);
    }
    dialect_.name = "derived_named_json";
    return surround();
  }

  // The id of a call, where it is written before the arguments.
  void add_id(size_t i, size_t from) {
    std::vector<FoundPart>& parts = found_[i];
    const auto id = find_name(answer_, calls_[i].id, from);
    if (!id || calls_[i].id.empty() || id->end > parts.back().range.begin) return;
    parts.insert(parts.begin() + (id->begin < parts[0].range.begin ? 0 : 1),
                 {CallPartKind::id, *id});
  }

  // A name, and keys and values between marks.
  bool read_tagged() {
    const auto name = find_name(answer_, calls_[0].name, 0);
    const auto arguments = parse_json(calls_[0].arguments, "arguments");
    if (!name || !arguments || arguments->size() != 2) return false;
    std::vector<TextRange> places;  // key, value, key, value
    size_t from = name->end;
    for (const auto& [key, value] : arguments->items()) {
      const std::string text = value.is_string() ? std::string(value.text()) : value.dump();
      for (const std::string& word : {std::string(key), text}) {
        const auto place = find_name(answer_, word, from);
        if (!place) return false;
        places.push_back(*place);
        from = place->end;
      }
    }
    return read_tags(*name, places);
  }

  bool read_tags(const TextRange& name, const std::vector<TextRange>& places) {
    const std::string_view before_key = text_of({name.end, places[0].begin});
    const std::string_view key_end = text_of({places[0].end, places[1].begin});
    const std::string_view between = text_of({places[1].end, places[2].begin});
    if (key_end != text_of({places[2].end, places[3].begin})) return false;
    const std::string_view begin = common_mark(between, before_key);
    const std::string_view value_end = between.substr(0, between.size() - begin.size());
    if (mark_core(begin).empty() || mark_core(key_end).empty() || mark_core(value_end).empty() ||
        !answer_.substr(places[3].end).starts_with(value_end)) {
      return false;
    }
    dialect_.name = "derived_tagged";
    dialect_.tagged = {std::string(begin), {{std::string(key_end), std::string(value_end)}}};
    const auto second = find_name(answer_, calls_[1].name, places[3].end);
    const size_t end = answer_.rfind(value_end);
    if (!second || end == answer_.npos || end < second->end) return false;
    const size_t n_name_end = before_key.size() - begin.size();
    found_[0] = {{CallPartKind::name, name},
                 {CallPartKind::tagged, {name.end + n_name_end, places[3].end + value_end.size()}}};
    found_[1] = {{CallPartKind::name, *second},
                 {CallPartKind::tagged, {second->end + n_name_end, end + value_end.size()}}};
    add_id(0, 0);
    add_id(1, found_[0].back().range.end);
    return surround();
  }

  std::string_view text_of(TextRange range) const {
    return answer_.substr(range.begin, range.end - range.begin);
  }

  // The parts of a call with the marks between them, which must be those of both calls.
  bool join_parts() {
    if (found_[0].size() != found_[1].size()) return false;
    size_t ends[2] = {found_[0][0].range.begin, found_[1][0].range.begin};
    for (size_t k = 0; k < found_[0].size(); ++k) {
      const FoundPart& first = found_[0][k];
      const FoundPart& second = found_[1][k];
      if (first.range.begin < ends[0] || second.range.begin < ends[1]) return false;
      const std::string_view mark = text_of({ends[0], first.range.begin});
      if (first.kind != second.kind || mark != text_of({ends[1], second.range.begin})) return false;
      if (k > 0 && mark_core(mark).empty() && first.kind != CallPartKind::json) return false;
      if (!mark.empty()) {
        dialect_.call.push_back({CallPartKind::mark, std::string(mark), mark_core(mark).empty()});
      }
      dialect_.call.push_back({first.kind, {}, false});
      ends[0] = first.range.end;
      ends[1] = second.range.end;
    }
    return true;
  }

  // The marks around calls whose own parts are known.
  bool surround() {
    dialect_.call.clear();
    if (!join_parts()) return false;
    const std::string_view before = answer_.substr(0, found_[0].front().range.begin);
    std::string_view between = text_of({found_[0].back().range.end, found_[1].front().range.begin});
    std::string_view after = answer_.substr(found_[1].back().range.end);
    if (!turn_end_.empty() && after.ends_with(turn_end_)) after.remove_suffix(turn_end_.size());
    const std::string_view begin = common_mark(between, before);
    between.remove_suffix(begin.size());
    const std::string_view end = common_prefix(between, after);
    const auto add = [](std::vector<CallPart>& list, size_t at, std::string_view text) {
      if (mark_core(text).empty()) return;
      list.insert(list.begin() + static_cast<ptrdiff_t>(at),
                  {CallPartKind::mark, std::string(text), false});
    };
    add(dialect_.call, 0, begin);
    add(dialect_.call, dialect_.call.size(), end);
    add(dialect_.section_begin, 0, before.substr(0, before.size() - begin.size()));
    add(dialect_.section_end, 0, after.substr(end.size()));
    dialect_.separator = std::string(between.substr(end.size()));
    // Without a mark before it, a call could be any text.
    const bool marked = !dialect_.section_begin.empty() || begins_with_mark();
    return marked && !marks_hold_ids();
  }

  bool begins_with_mark() const {
    const CallPart& first = dialect_.call.front();
    return first.kind == CallPartKind::mark && !first.optional;
  }

  // An id that was taken for a mark is one of this answer only.
  bool marks_hold_ids() const {
    return std::ranges::any_of(dialect_marks(dialect_), [&](const std::string& mark) {
      return std::ranges::any_of(calls_, [&](const ToolCall& call) {
        return !call.id.empty() && mark.find(call.id) != mark.npos;
      });
    });
  }

  std::string_view answer_;
  std::string_view turn_end_;
  std::span<const ToolCall> calls_;
  ToolDialect dialect_;
  std::vector<FoundPart> found_[2];
};

}  // namespace

std::optional<ToolDialect> derive_dialect(std::string_view answer, std::string_view turn_end,
                                          std::span<const ToolCall> calls) {
  if (calls.size() != 2) return std::nullopt;
  return Derivation(answer, turn_end, calls).run();
}

}  // namespace ruv
