// An end tag inside a text is known from the value's own by what follows: another argument, or the
// end of the call. Texts are passed on as they come; other values are short and are read whole.
#include <algorithm>

#include "base/check.h"
#include "chat/tools/argument_reader.h"
#include "chat/tools/json_scan.h"

namespace ruv {
namespace {

constexpr size_t kMaxTagKey = 256;
// Whitespace looked through after an end tag.
constexpr size_t kMaxTagSpace = 64;

// The whitespace at the end of a mark, and at its beginning.
std::string_view space_behind(std::string_view mark) {
  const std::string_view core = mark_core(mark);
  return mark.substr(static_cast<size_t>(core.data() - mark.data()) + core.size());
}
std::string_view space_before(std::string_view mark) {
  return mark.substr(0, static_cast<size_t>(mark_core(mark).data() - mark.data()));
}

class TaggedReader final : public ArgumentReader {
 public:
  TaggedReader(const ToolDialect& dialect, SchemaPlace schema, std::vector<std::string_view> ends)
      : tags_(dialect.tagged), schema_(schema), follow_(std::move(ends)) {
    follow_.push_back(mark_core(tags_.begin));
  }

  ReadStep read(TextCursor& text, std::string& json, ToolWarnings& warnings) override {
    if (!begun_) json += '{';
    begun_ = true;
    while (true) {
      const ReadStep result = step(text, json, warnings);
      if (result != ReadStep::done) return result;
      if (state_ == State::done) return ReadStep::done;
    }
  }

 private:
  enum class State : uint8_t { between, key, before_value, value, done };

  ReadStep step(TextCursor& text, std::string& json, ToolWarnings& warnings) {
    switch (state_) {
      case State::between:
        return read_between(text, json);
      case State::key:
        return read_key(text, json);
      case State::before_value:
        return read_before_value(text);
      default:
        return read_value(text, json, warnings);
    }
  }

  // Another argument, or the end of them.
  ReadStep read_between(TextCursor& text, std::string& json) {
    if (!text.skip_space()) return ReadStep::more;
    const std::string_view begin = mark_core(tags_.begin);
    const MarkMatch match = text.match(begin);
    if (match == MarkMatch::partial) return ReadStep::more;
    if (match == MarkMatch::full) {
      text.advance(begin.size());
      key_.clear();
      state_ = State::key;
    } else {
      json += '}';
      state_ = State::done;
    }
    return ReadStep::done;
  }

  // Up to what one of the forms has after the key.
  ReadStep read_key(TextCursor& text, std::string& json) {
    while (!text.empty()) {
      for (const TagForm& form : tags_.forms) {
        const std::string_view end = mark_core(form.key_end);
        const MarkMatch match = text.match(end);
        if (match == MarkMatch::partial) return ReadStep::more;
        if (match == MarkMatch::no) continue;
        text.advance(end.size());
        form_ = &form;
        return begin_value(json);
      }
      const char c = text.front();
      if (key_.size() == kMaxTagKey || c == '\n' || c == '<') return ReadStep::bad;
      key_ += c;
      text.advance(1);
    }
    return text.ended() ? ReadStep::bad : ReadStep::more;
  }

  // The key is whole: its schema says how the value is read.
  ReadStep begin_value(std::string& json) {
    const std::string_view key = mark_core(key_);
    if (key.empty()) return ReadStep::bad;
    json += n_values_++ == 0 ? "\"" : ",\"";
    append_in_json_string(json, key);
    json += "\":";
    types_ = schema_types(member_schema(schema_, key));
    streams_ = form_->value == TagValue::text ||
               (form_->value == TagValue::by_schema && types_.is_only(TypeSet::string));
    if (form_->value == TagValue::json) types_ = TypeSet::all();
    if (streams_) json += '"';
    value_.clear();
    state_ = State::before_value;
    return ReadStep::done;
  }

  // What the dialect writes between the tag and the value is not part of the value.
  ReadStep read_before_value(TextCursor& text) {
    const std::string_view space = space_behind(form_->key_end);
    const MarkMatch match = text.match(space);
    if (match == MarkMatch::partial) return ReadStep::more;
    if (match == MarkMatch::full) text.advance(space.size());
    end_core_ = mark_core(form_->value_end);
    end_ = std::string(space_before(form_->value_end)) + std::string(end_core_);
    state_ = State::value;
    return ReadStep::done;
  }

  // The value up to its end tag.
  ReadStep read_value(TextCursor& text, std::string& json, ToolWarnings& warnings) {
    while (!text.empty()) {
      const std::string_view rest = text.rest();
      size_t n = 0;
      while (n < rest.size() && rest[n] != end_.front() && rest[n] != end_core_.front()) ++n;
      put(rest.substr(0, n), json);
      text.advance(n);
      if (text.empty()) break;
      size_t n_end = 0;
      const MarkMatch match = match_end(text, n_end);
      if (match == MarkMatch::partial) return ReadStep::more;
      if (match == MarkMatch::full) {
        const bool is_json = form_->value == TagValue::json;
        if (!streams_) json += json_of_text(value_, types_, text.offset(), warnings, is_json);
        if (streams_) json += '"';
        text.advance(n_end);
        state_ = State::between;
        return ReadStep::done;
      }
      put(text.rest().substr(0, 1), json);
      text.advance(1);
    }
    return text.ended() ? ReadStep::bad : ReadStep::more;
  }

  void put(std::string_view piece, std::string& json) {
    if (streams_) {
      append_in_json_string(json, piece);
    } else {
      value_ += piece;
    }
  }

  // Whether the value ends here, and how long its end is.
  MarkMatch match_end(TextCursor& text, size_t& n_end) const {
    for (const std::string_view end : {std::string_view(end_), end_core_}) {
      const MarkMatch match = text.match(end);
      if (match == MarkMatch::partial) return match;
      if (match == MarkMatch::no) continue;
      n_end = end.size();
      return match_behind(text, end.size());
    }
    return MarkMatch::no;
  }

  // Whether something follows that follows values only.
  MarkMatch match_behind(TextCursor& text, size_t at) const {
    const std::string_view rest = text.rest();
    const size_t most = std::min(rest.size(), at + kMaxTagSpace);
    while (at < most && is_mark_space(rest[at])) ++at;
    text.add_work(at);
    if (at == rest.size()) return text.ended() ? MarkMatch::full : MarkMatch::partial;
    if (is_mark_space(rest[at])) return MarkMatch::full;
    bool partial = false;
    for (const std::string_view mark : follow_) {
      const MarkMatch match = text.match(mark, at);
      if (match == MarkMatch::full) return match;
      partial |= match == MarkMatch::partial;
    }
    return partial ? MarkMatch::partial : MarkMatch::no;
  }

  const TaggedArguments& tags_;
  SchemaPlace schema_;
  std::vector<std::string_view> follow_;
  State state_ = State::between;
  bool begun_ = false;
  size_t n_values_ = 0;
  const TagForm* form_ = nullptr;
  std::string end_;  // of the value, with the whitespace before it
  std::string_view end_core_;
  TypeSet types_;
  bool streams_ = false;  // the value is a text
  std::string key_;
  std::string value_;
};

}  // namespace

std::unique_ptr<ArgumentReader> make_tagged_reader(const ToolDialect& dialect, SchemaPlace schema,
                                                   std::vector<std::string_view> ends) {
  CHECK(!dialect.tagged.forms.empty());
  return std::make_unique<TaggedReader>(dialect, schema, std::move(ends));
}

}  // namespace ruv
