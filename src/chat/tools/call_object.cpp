#include "chat/tools/call_object.h"

#include <algorithm>

#include "base/json.h"

namespace ruv {
namespace {

// Keys, names and ids longer than this are none. Arguments have no limit.
constexpr size_t kMaxMemberToken = 1024;

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

ReadStep CallObject::read(TextCursor& text, CallFacts& facts, ToolWarnings& warnings) {
  while (state_ != State::done) {
    const ReadStep result = step(text, facts, warnings);
    if (result != ReadStep::done) return result;
  }
  return ReadStep::done;
}

ReadStep CallObject::step(TextCursor& text, CallFacts& facts, ToolWarnings& warnings) {
  switch (state_) {
    case State::arguments:
      return read_arguments(text, facts, warnings);
    case State::skipped:
      return skip_value(text);
    default:
      break;
  }
  if (!token_.empty()) {
    return state_ == State::value ? read_text_value(text, facts) : read_key(text, facts);
  }
  if (!text.skip_space()) return ReadStep::more;
  return text.empty() ? ReadStep::bad : between(text, facts, warnings);
}

// Outside of values.
ReadStep CallObject::between(TextCursor& text, CallFacts& facts, ToolWarnings& warnings) {
  const char c = text.front();
  switch (state_) {
    case State::begin:
      if (c != '{') return ReadStep::bad;
      text.advance(1);
      ++depth_;
      state_ = State::first_key;
      return ReadStep::done;
    case State::first_key:
    case State::key:
      return c == '"' ? read_key(text, facts) : ReadStep::bad;
    case State::colon:
      if (c != ':') return ReadStep::bad;
      text.advance(1);
      state_ = State::value;
      return ReadStep::done;
    case State::value:
      return begin_value(text, facts);
    default:
      break;
  }
  if (c == '}') return close(text, facts, warnings);
  if (c != ',') return ReadStep::bad;
  text.advance(1);
  state_ = State::key;
  return ReadStep::done;
}

// What a member of this name says.
CallObject::Member CallObject::member_of(std::string_view key) const {
  const CallKeys& keys = dialect_.keys;
  if (keys.name_is_key) return Member::arguments;
  if (is_among(keys.name, key)) return Member::name;
  if (is_among(keys.arguments, key)) return Member::arguments;
  if (is_among(keys.id, key)) return Member::id;
  return key == "function" && depth_ == 1 ? Member::function : Member::other;
}

// A JSON text, up to its end, into token_.
ReadStep CallObject::read_token(TextCursor& text) {
  while (!text.empty()) {
    if (token_.size() > kMaxMemberToken) return ReadStep::bad;
    const JsonScan::Verdict verdict = scan_.push(text.front(), token_);
    if (verdict == JsonScan::Verdict::bad) return ReadStep::bad;
    if (verdict == JsonScan::Verdict::over) return ReadStep::done;
    text.advance(1);
    if (verdict == JsonScan::Verdict::done) return ReadStep::done;
  }
  return text.ended() ? ReadStep::bad : ReadStep::more;
}

ReadStep CallObject::read_key(TextCursor& text, CallFacts& facts) {
  if (token_.empty()) scan_.restart();
  const ReadStep read = read_token(text);
  if (read != ReadStep::done) return read;
  const auto key = parse_json(token_, "key");
  token_.clear();
  if (!key) return ReadStep::bad;
  const std::string_view name = key->text();
  member_ = member_of(name);
  // A text that only may be a call has no members besides those of one.
  if (dialect_.bare && member_ == Member::other && name != "type" && name != "id") {
    return ReadStep::bad;
  }
  is_type_ = name == "type";
  if (dialect_.keys.name_is_key) {
    if (facts.named || name.empty()) return ReadStep::bad;
    facts.name = std::string(name);
    facts.named = true;
  }
  state_ = State::colon;
  return ReadStep::done;
}

// The value of the member that was named.
ReadStep CallObject::begin_value(TextCursor& text, CallFacts& facts) {
  const char c = text.front();
  scan_.restart();
  switch (member_) {
    case Member::function:
      if (c != '{') break;
      text.advance(1);
      ++depth_;
      state_ = State::first_key;
      return ReadStep::done;
    case Member::name:
      return c == '"' && !facts.named ? read_text_value(text, facts) : ReadStep::bad;
    case Member::id:
      return read_text_value(text, facts);
    case Member::arguments:
      if (has_arguments_) return ReadStep::bad;
      has_arguments_ = true;
      facts.early_id = facts.id;
      quoted_arguments_ = c != '{';
      state_ = State::arguments;
      return ReadStep::done;
    case Member::other:
      break;
  }
  state_ = State::skipped;
  return ReadStep::done;
}

ReadStep CallObject::read_text_value(TextCursor& text, CallFacts& facts) {
  const ReadStep read = read_token(text);
  if (read != ReadStep::done) return read;
  const auto value = parse_json(token_, "value");
  if (!value) return ReadStep::bad;
  const std::string text_value = value->is_string() ? value->get<std::string>() : token_;
  token_.clear();
  if (member_ == Member::name) {
    if (text_value.empty()) return ReadStep::bad;
    facts.name = text_value;
    facts.named = true;
  } else if (!value->is_null()) {
    facts.id = text_value;
  }
  state_ = State::after;
  return ReadStep::done;
}

// Objects pass as they are. Some models write the object as a text, or null for no arguments.
ReadStep CallObject::read_arguments(TextCursor& text, CallFacts& facts, ToolWarnings& warnings) {
  std::string& json = quoted_arguments_ ? token_ : facts.json;
  while (!text.empty()) {
    const bool was_repaired = scan_.repaired();
    const JsonScan::Verdict verdict = scan_.push(text.front(), json);
    if (verdict == JsonScan::Verdict::bad) return ReadStep::bad;
    if (scan_.repaired() && !was_repaired) {
      warnings.push_back({ToolWarning::Kind::control_in_string, text.offset()});
    }
    if (verdict != JsonScan::Verdict::over) text.advance(1);
    if (verdict == JsonScan::Verdict::more) continue;
    state_ = State::after;
    if (!quoted_arguments_) return ReadStep::done;
    const bool taken = take_quoted_arguments(token_, facts);
    token_.clear();
    return taken ? ReadStep::done : ReadStep::bad;
  }
  return text.ended() ? ReadStep::bad : ReadStep::more;
}

bool CallObject::take_quoted_arguments(std::string_view token, CallFacts& facts) {
  const auto value = parse_json(token, "arguments");
  if (!value) return false;
  if (value->is_null() || (value->is_string() && mark_core(value->text()).empty())) {
    facts.json += "{}";
    return true;
  }
  if (!value->is_string()) return false;
  const std::string_view json = mark_core(value->text());
  if (!is_json_object(json)) return false;
  facts.json += json;
  return true;
}

// A member that says nothing, which the type of a call does not either.
ReadStep CallObject::skip_value(TextCursor& text) {
  constexpr std::string_view kType = "\"function\"";
  while (!text.empty()) {
    const JsonScan::Verdict verdict = scan_.push(text.front(), token_);
    if (verdict == JsonScan::Verdict::bad) return ReadStep::bad;
    if (verdict != JsonScan::Verdict::over) text.advance(1);
    if (verdict == JsonScan::Verdict::more) {
      if (token_.size() > kType.size()) token_.resize(kType.size() + 1);
      continue;
    }
    has_others_ |= !is_type_ || token_ != kType;
    token_.clear();
    state_ = State::after;
    return ReadStep::done;
  }
  return text.ended() ? ReadStep::bad : ReadStep::more;
}

// The end of the call, or of the object that it is in. Without arguments another member may have
// been meant to be them.
ReadStep CallObject::close(TextCursor& text, CallFacts& facts, ToolWarnings& warnings) {
  text.advance(1);
  if (--depth_ > 0) {
    state_ = State::after;
    return ReadStep::done;
  }
  if (!facts.named || (has_others_ && !has_arguments_)) return ReadStep::bad;
  if (has_others_) warnings.push_back({ToolWarning::Kind::unknown_member, text.offset()});
  if (!has_arguments_) {
    facts.early_id = facts.id;
    facts.json += "{}";
  }
  state_ = State::done;
  return ReadStep::done;
}

}  // namespace ruv
