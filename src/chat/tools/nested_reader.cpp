// Elements are open on a stack. Whether an element is a text, a list or an object shows in what
// follows its tag; where nothing follows, its schema says.
#include "base/check.h"
#include "chat/tools/argument_reader.h"
#include "chat/tools/json_scan.h"

namespace ruv {
namespace {

constexpr size_t kMaxElementName = 256;

class NestedReader final : public ArgumentReader {
 public:
  NestedReader(const ToolDialect& dialect, SchemaPlace schema, std::vector<std::string_view> ends)
      : syntax_(dialect.nested),
        opener_(syntax_.prefix + "<"),
        closer_(syntax_.prefix + "</"),
        ends_(std::move(ends)) {
    open_.push_back({{}, schema, Element::object});
  }

  ReadStep read(TextCursor& text, std::string& json, ToolWarnings& warnings) override {
    if (!begun_) json += '{';
    begun_ = true;
    while (true) {
      const ReadStep result = step(text, json, warnings);
      if (result != ReadStep::done || state_ == State::done) return result;
    }
  }

 private:
  enum Element : uint8_t { unknown, text_value, list, object };
  enum class State : uint8_t { inside, text, name, close_name, done };
  struct Open {
    std::string name;
    SchemaPlace schema;
    Element element = unknown;
    size_t n_members = 0;
  };

  ReadStep step(TextCursor& text, std::string& json, ToolWarnings& warnings) {
    switch (state_) {
      case State::inside:
        return read_inside(text, json);
      case State::text:
        return read_text(text, json);
      case State::name:
        return read_name(text, json);
      default:
        return read_close(text, json, warnings);
    }
  }

  // Between the elements of a list or object, or after an element's tag.
  ReadStep read_inside(TextCursor& text, std::string& json) {
    Open& top = open_.back();
    // A text keeps its whitespace; around tags it says nothing.
    if (top.element != unknown && !text.skip_space()) return ReadStep::more;
    if (open_.size() == 1) {
      for (const std::string_view end : ends_) {
        const MarkMatch match = text.match(end);
        if (match == MarkMatch::partial) return ReadStep::more;
        if (match == MarkMatch::no) continue;
        json += '}';
        state_ = State::done;
        return ReadStep::done;
      }
    }
    if (text.empty()) return text.ended() ? ReadStep::bad : ReadStep::more;
    const MarkMatch closes = text.match(closer_);
    if (closes == MarkMatch::partial) return ReadStep::more;
    if (closes == MarkMatch::full) return begin_name(text, closer_.size(), State::close_name);
    const MarkMatch opens = text.match(opener_);
    if (opens == MarkMatch::partial) return ReadStep::more;
    if (opens == MarkMatch::full) return begin_name(text, opener_.size(), State::name);
    if (top.element != unknown) return ReadStep::bad;
    begin_text(json);
    return ReadStep::done;
  }

  ReadStep begin_name(TextCursor& text, size_t n, State state) {
    text.advance(n);
    name_.clear();
    state_ = state;
    return ReadStep::done;
  }

  // The element holds a text, or what is written like one.
  void begin_text(std::string& json) {
    Open& top = open_.back();
    top.element = text_value;
    types_ = schema_types(top.schema);
    streams_ = types_.is_only(TypeSet::string);
    if (streams_) json += '"';
    value_.clear();
    state_ = State::text;
  }

  // A text up to a closing tag.
  ReadStep read_text(TextCursor& text, std::string& json) {
    while (!text.empty()) {
      const std::string_view rest = text.rest();
      const size_t n = std::min(rest.find(closer_.front()), rest.size());
      put(rest.substr(0, n), json);
      text.advance(n);
      if (text.empty()) break;
      const MarkMatch match = text.match(closer_);
      if (match == MarkMatch::partial) return ReadStep::more;
      if (match == MarkMatch::full) return begin_name(text, closer_.size(), State::close_name);
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

  // True: the name is whole, up to '>'.
  ReadStep take_name(TextCursor& text) {
    while (!text.empty()) {
      const char c = text.front();
      text.advance(1);
      if (c == '>') return ReadStep::done;
      if (c == '<' || c == '\n' || name_.size() == kMaxElementName) return ReadStep::bad;
      name_ += c;
    }
    return text.ended() ? ReadStep::bad : ReadStep::more;
  }

  // An opening tag: the element that it is in turns out to be a list or an object.
  ReadStep read_name(TextCursor& text, std::string& json) {
    const ReadStep taken = take_name(text);
    if (taken != ReadStep::done) return taken;
    if (name_.empty() || open_.size() == JsonScan::kMaxDepth) return ReadStep::bad;
    Open& top = open_.back();
    if (top.element == unknown) {
      top.element = is_list(top.schema) ? list : object;
      json += top.element == list ? '[' : '{';
    }
    if (top.element == list && name_ != syntax_.item) return ReadStep::bad;
    if (top.n_members++ > 0) json += ',';
    if (top.element == object) {
      json += '"';
      append_in_json_string(json, name_);
      json += "\":";
    }
    const SchemaPlace schema =
        top.element == list ? item_schema(top.schema) : member_schema(top.schema, name_);
    open_.push_back({name_, schema});
    state_ = State::inside;
    return ReadStep::done;
  }

  bool is_list(SchemaPlace schema) const {
    const TypeSet types = schema_types(schema);
    return name_ == syntax_.item && types.has(TypeSet::array);
  }

  // A closing tag must be that of the element that was opened last.
  ReadStep read_close(TextCursor& text, std::string& json, ToolWarnings& warnings) {
    const ReadStep taken = take_name(text);
    if (taken != ReadStep::done) return taken;
    Open& top = open_.back();
    if (open_.size() == 1 || name_ != top.name) return ReadStep::bad;
    switch (top.element) {
      case unknown:
        json += json_of_nothing(top.schema);
        break;
      case text_value:
        json +=
            streams_ ? std::string("\"") : json_of_text(value_, types_, text.offset(), warnings);
        break;
      default:
        json += top.element == list ? ']' : '}';
    }
    open_.pop_back();
    state_ = State::inside;
    return ReadStep::done;
  }

  static const char* json_of_nothing(SchemaPlace schema) {
    const TypeSet types = schema_types(schema);
    if (types.has(TypeSet::string)) return "\"\"";
    if (types.has(TypeSet::array)) return "[]";
    return types.has(TypeSet::object) ? "{}" : "null";
  }

  const NestedArguments& syntax_;
  std::string opener_;
  std::string closer_;
  std::vector<std::string_view> ends_;
  State state_ = State::inside;
  bool begun_ = false;
  std::vector<Open> open_;
  std::string name_;
  TypeSet types_;
  bool streams_ = false;  // the text is a JSON text
  std::string value_;
};

}  // namespace

std::unique_ptr<ArgumentReader> make_nested_reader(const ToolDialect& dialect, SchemaPlace schema,
                                                   std::vector<std::string_view> ends) {
  CHECK(!ends.empty());
  return std::make_unique<NestedReader>(dialect, schema, std::move(ends));
}

}  // namespace ruv
