// Answers that are text with calls between marks. In text, the reader looks for marks that may
// begin something; in a call, it goes through the parts of the dialect's description. Text since
// the first mark of a call is kept until the call is whole, so that nothing is lost if it is none.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "chat/tools/call_object.h"
#include "chat/tools/output_reader.h"

namespace ruv {
namespace {

constexpr size_t kMaxNameBytes = 256;

using Parts = std::vector<CallPart>;

// What a mark is compared as: whitespace counts only where there is nothing else.
std::string_view comparable(const CallPart& part) {
  const std::string_view core = mark_core(part.text);
  return core.empty() ? std::string_view(part.text) : core;
}

bool is_name_byte(char c) {
  return static_cast<unsigned char>(c) > ' ' &&
         std::string_view("\"'`(){}[]<>,").find(c) == std::string_view::npos;
}
bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, is_name_byte);
}

class MarkedReader final : public OutputReader {
 public:
  MarkedReader(ToolDialect dialect, ToolParserOptions options)
      : OutputReader(std::move(dialect), std::move(options)) {
    collect_marks();
    content_.set_kept_back(dialect_.gap.size());
    reasoning_.set_kept_back(kReasoningSpace);
    if (options_.continues_text) {
      content_.assume_begun();
      reasoning_.assume_begun();
    }
    if (!dialect_.prefilled.empty() && options_.prompt_tail.ends_with(dialect_.prefilled)) {
      text_.append(dialect_.prefilled);
    }
    begin_in_reasoning();
  }

 private:
  // Whitespace at the end of reasoning that is not part of it.
  static constexpr size_t kReasoningSpace = 64;

  enum class Mode : uint8_t { text, section, call, closing, between, section_end };
  // What a mark in a text does.
  enum class Action : uint8_t { reason, stop_reasoning, call, drop };
  struct TextMark {
    std::string text;
    Action action;
  };

  void collect_marks();
  void begin_in_reasoning();
  void read() override;
  void close() override;
  bool section_must_end() const;
  bool step();

  // Text.
  bool read_text();
  bool read_marks();
  bool mark_applies(Action action) const;
  void act(const TextMark& mark);
  bool may_begin_bare(char c) const;
  void put_text(std::string_view text);
  void begin_section();

  // Calls.
  bool read_section();
  bool read_call();
  bool read_closing();
  bool read_between();
  bool read_section_end();
  ReadStep read_mark(const CallPart& part);
  ReadStep read_until(const std::vector<std::string_view>& ends, std::string& out);
  ReadStep read_part(const CallPart& part);
  ReadStep read_name();
  ReadStep read_id(const CallPart& part);
  ReadStep read_digits();
  ReadStep read_arguments(const CallPart& part);
  ReadStep read_object();
  MarkMatch match_start(const Parts& parts);
  std::vector<std::string_view> ends_after(size_t part) const;
  std::vector<std::string_view> marks_after(size_t part) const;
  bool admits(const std::string& name) const;
  void start_call();
  void give_up();
  void back_to_text();

  Mode mode_ = Mode::text;
  bool reasoning_now_ = false;
  bool was_reasoning_ = false;     // when the call began
  std::string space_before_call_;  // what was not passed on; it is if the call is void
  std::string opening_;            // of the prompt, which is content
  TrimmedText content_;
  TrimmedText reasoning_;
  std::vector<TextMark> marks_;
  std::array<bool, 256> may_begin_{};  // the first bytes of marks

  size_t part_ = 0;
  CallFacts facts_;
  std::string token_;  // a name or an id so far
  std::unique_ptr<ArgumentReader> arguments_;
  std::optional<CallObject> object_;
};

// The order decides where one mark begins another.
void MarkedReader::collect_marks() {
  const ReasoningMarks& reasoning = dialect_.reasoning;
  const auto add = [&](std::string_view text, Action action) {
    const std::string_view core = mark_core(text);
    if (!core.empty()) marks_.push_back({std::string(core), action});
  };
  if (!reasoning.end.empty()) {
    add(reasoning.begin, Action::reason);
    add(reasoning.end, Action::stop_reasoning);
  }
  for (const std::string& stray : dialect_.strays) add(stray, Action::drop);
  if (options_.calls && dialect_.shape == ToolDialect::Shape::marked) {
    const Parts& first = dialect_.section_begin.empty() ? dialect_.call : dialect_.section_begin;
    for (const CallPart& part : first) {
      if (part.kind != CallPartKind::mark) break;
      add(part.text, Action::call);
      if (!part.optional) break;
    }
  }
  for (const TextMark& mark : marks_) {
    may_begin_[static_cast<unsigned char>(mark.text.front())] = true;
  }
}

// The prompt may end inside reasoning: then the answer begins there.
void MarkedReader::begin_in_reasoning() {
  const ReasoningMarks& marks = dialect_.reasoning;
  const std::optional<size_t> at = open_reasoning(marks, options_.prompt_tail);
  if (!at) return;
  reasoning_now_ = true;
  const bool shown = !options_.reasoning_apart || marks.begin_is_text;
  if (options_.continues_text) return;
  reasoning_.skip_space();
  if (shown) opening_ = options_.prompt_tail.substr(*at);
}

void MarkedReader::read() {
  put_text(std::exchange(opening_, {}));
  while (!done() && step()) {
  }
}

// False: more text is needed.
bool MarkedReader::step() {
  switch (mode_) {
    case Mode::text:
      return read_text();
    case Mode::section:
      return read_section();
    case Mode::call:
      return read_call();
    case Mode::closing:
      return read_closing();
    case Mode::between:
      return read_between();
    case Mode::section_end:
      return read_section_end();
  }
  return false;
}

// A section without its end is whole, but its calls may not be all that the model meant.
void MarkedReader::close() {
  const bool open = mode_ == Mode::between || mode_ == Mode::section_end;
  if (open && section_must_end()) warn(ToolWarning::Kind::missing_end);
  if (n_calls_ended() == 0) put_content(content_.flush());
}

bool MarkedReader::section_must_end() const {
  return std::ranges::any_of(dialect_.section_end,
                             [](const CallPart& part) { return !part.optional; });
}

// Text up to a byte that may begin a mark passes at once.
bool MarkedReader::read_text() {
  if (text_.empty()) return false;
  const std::string_view rest = text_.rest();
  size_t n = 0;
  while (n < rest.size() && !may_begin_[static_cast<unsigned char>(rest[n])]) {
    if (dialect_.bare && may_begin_bare(rest[n])) break;
    if (!is_mark_space(rest[n]) && dialect_.bare) content_.assume_begun();
    ++n;
  }
  put_text(rest.substr(0, n));
  text_.advance(n);
  return !text_.empty() && read_marks();
}

// At a byte that may begin a mark.
bool MarkedReader::read_marks() {
  for (const TextMark& mark : marks_) {
    if (!mark_applies(mark.action)) continue;
    const MarkMatch match = text_.match(mark.text);
    if (match == MarkMatch::partial) return false;
    if (match == MarkMatch::no) continue;
    act(mark);
    return true;
  }
  if (dialect_.bare && may_begin_bare(text_.front())) {
    begin_section();
    return true;
  }
  put_text(text_.rest().substr(0, 1));
  text_.advance(1);
  return true;
}

// Calls without marks begin where the text does.
bool MarkedReader::may_begin_bare(char c) const {
  if (!options_.calls || reasoning_now_ || content_.begun() || n_calls_ended() > 0) return false;
  const Parts& first = dialect_.section_begin.empty() ? dialect_.call : dialect_.section_begin;
  for (const CallPart& part : first) {
    switch (part.kind) {
      case CallPartKind::mark:
        if (c == mark_core(part.text).front()) return true;
        break;
      case CallPartKind::object:
        return c == '{';
      default:
        return is_name_byte(c);
    }
    if (!part.optional) return false;
  }
  return false;
}

// What a mark means depends on where it is; elsewhere it is text.
bool MarkedReader::mark_applies(Action action) const {
  const bool at_start = !content_.begun() && n_calls_ended() == 0;
  switch (action) {
    case Action::reason:
      // A model may repeat what the prompt ended with.
      if (reasoning_now_) return !reasoning_.begun();
      return dialect_.reasoning.anywhere || at_start;
    case Action::stop_reasoning:
      return reasoning_now_ || at_start;
    case Action::call:
      return reasoning_now_ ? dialect_.reasoning.ended_by_call
                            : !dialect_.bare || (at_start && !content_.begun());
    case Action::drop:
      return !reasoning_now_;
  }
  return false;
}

// A mark of the text was found and is not read yet.
void MarkedReader::act(const TextMark& mark) {
  if (mark.action == Action::call) return begin_section();
  text_.advance(mark.text.size());
  if (mark.action == Action::drop) {
    if (!content_.begun()) content_.skip_space();
    return;
  }
  const bool begins = mark.action == Action::reason;
  if (!options_.reasoning_apart) {
    put_content(content_.push(mark.text));
  } else if (begins) {
    if (!content_.begun()) content_.drop();
    reasoning_.skip_space();
    if (dialect_.reasoning.begin_is_text) put_reasoning(reasoning_.push(dialect_.reasoning.begin));
  } else {
    reasoning_.drop();
    if (!content_.begun()) content_.drop();
    content_.skip_space();
  }
  reasoning_now_ = begins;
}

// Text belongs to the part of the answer that is being read.
void MarkedReader::put_text(std::string_view text) {
  if (reasoning_now_ && options_.reasoning_apart) {
    put_reasoning(reasoning_.push(text));
  } else {
    put_content(content_.push(text));
  }
}

// The first mark of calls comes next; it stays in the text, to be read as any other.
void MarkedReader::begin_section() {
  text_.hold();
  was_reasoning_ = reasoning_now_;
  mode_ = dialect_.section_begin.empty() ? Mode::call : Mode::section;
  part_ = 0;
  facts_ = {};
  token_.clear();
}

// The marks before the first call.
bool MarkedReader::read_section() {
  for (; part_ < dialect_.section_begin.size(); ++part_) {
    const ReadStep result = read_mark(dialect_.section_begin[part_]);
    if (result == ReadStep::more) return false;
    if (result == ReadStep::bad) {
      give_up();
      return true;
    }
  }
  part_ = 0;
  mode_ = Mode::call;
  return true;
}

// Whitespace before a mark says nothing, unless the mark is whitespace.
ReadStep MarkedReader::read_mark(const CallPart& part) {
  const std::string_view mark = comparable(part);
  if (!is_mark_space(mark.front()) && !text_.skip_space()) return ReadStep::more;
  const MarkMatch match = text_.match(mark);
  if (match == MarkMatch::partial) return ReadStep::more;
  if (match == MarkMatch::no) return part.optional ? ReadStep::done : ReadStep::bad;
  text_.advance(mark.size());
  return ReadStep::done;
}

// The parts of a call up to the end of its arguments.
bool MarkedReader::read_call() {
  while (part_ < dialect_.call.size()) {
    const ReadStep result = read_part(dialect_.call[part_]);
    if (result == ReadStep::more) return false;
    if (result == ReadStep::bad) {
      give_up();
      return true;
    }
    if (done()) return false;
    if (mode_ != Mode::call) return true;
    ++part_;
    token_.clear();
  }
  give_up();  // a dialect without arguments: no table has one
  return true;
}

ReadStep MarkedReader::read_part(const CallPart& part) {
  switch (part.kind) {
    case CallPartKind::mark:
      return read_mark(part);
    case CallPartKind::name:
      return read_name();
    case CallPartKind::id:
    case CallPartKind::named_id:
      return read_id(part);
    case CallPartKind::number:
      return read_digits();
    case CallPartKind::skipped:
      return read_until(ends_after(part_ + 1), token_);
    case CallPartKind::object:
      return read_object();
    default:
      return read_arguments(part);
  }
}

// Reads into `out` up to one of `ends`, which stays. Bounded: names and ids are short.
ReadStep MarkedReader::read_until(const std::vector<std::string_view>& ends, std::string& out) {
  while (!text_.empty()) {
    for (const std::string_view end : ends) {
      const MarkMatch match = text_.match(end);
      if (match == MarkMatch::partial) return ReadStep::more;
      if (match == MarkMatch::full) return ReadStep::done;
    }
    if (out.size() == kMaxNameBytes) return ReadStep::bad;
    out += text_.front();
    text_.advance(1);
  }
  return text_.ended() ? ReadStep::bad : ReadStep::more;
}

ReadStep MarkedReader::read_name() {
  const ReadStep read = read_until(ends_after(part_ + 1), token_);
  if (read != ReadStep::done) return read;
  facts_.name = std::string(mark_core(token_));
  facts_.named = true;
  return is_tool_name(facts_.name) && admits(facts_.name) ? ReadStep::done : ReadStep::bad;
}

// A text that only may be a call must name a tool.
bool MarkedReader::admits(const std::string& name) const {
  return !dialect_.bare || options_.tools.empty() || options_.tools.has(name);
}

// The id, and the name where that is in it.
ReadStep MarkedReader::read_id(const CallPart& part) {
  const ReadStep read = read_until(ends_after(part_ + 1), token_);
  if (read != ReadStep::done) return read;
  facts_.id = std::string(mark_core(token_));
  facts_.early_id = facts_.id;
  if (part.kind == CallPartKind::id) return ReadStep::done;
  std::string_view name = facts_.id;
  if (name.starts_with(part.text)) name.remove_prefix(part.text.size());
  facts_.name = std::string(name.substr(0, name.rfind(':')));
  facts_.named = true;
  return is_tool_name(facts_.name) ? ReadStep::done : ReadStep::bad;
}

ReadStep MarkedReader::read_digits() {
  while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') text_.advance(1);
  return text_.empty() && !text_.ended() ? ReadStep::more : ReadStep::done;
}

// The name is known and arguments follow: what came before the call is settled.
void MarkedReader::start_call() {
  if (was_reasoning_) reasoning_.drop();
  const std::string kept_back = content_.kept_back();
  const std::string text = content_.flush_before(dialect_.gap);
  space_before_call_ = kept_back.substr(text.size());
  put_content(text);
  begin_call(facts_.name, facts_.early_id);
}

// Arguments are passed on as they come. Their end is the call's: closing marks may be missing.
ReadStep MarkedReader::read_arguments(const CallPart& part) {
  if (arguments_ == nullptr) {
    const SchemaPlace schema = options_.tools.of(facts_.name);
    if (part.kind == CallPartKind::json) {
      arguments_ = make_json_reader();
    } else if (part.kind == CallPartKind::literals) {
      arguments_ = make_literal_reader(dialect_);
    } else if (part.kind == CallPartKind::tagged) {
      arguments_ = make_tagged_reader(dialect_, schema, marks_after(part_ + 1));
    } else {
      arguments_ = make_nested_reader(dialect_, schema, marks_after(part_ + 1));
    }
    start_call();
  }
  const ReadStep read = arguments_->read(text_, facts_.json, warnings_);
  put_arguments(facts_.json);
  if (read != ReadStep::done) return read;
  arguments_.reset();
  end_call({});
  mode_ = Mode::closing;
  ++part_;
  return ReadStep::done;
}

// Name and arguments are inside one object. Arguments wait until the name is known.
ReadStep MarkedReader::read_object() {
  if (!object_) object_.emplace(dialect_);
  const ReadStep read = object_->read(text_, facts_, warnings_);
  if (facts_.named && !call_open() && !(is_tool_name(facts_.name) && admits(facts_.name))) {
    return ReadStep::bad;
  }
  if (facts_.named && !facts_.json.empty()) {
    if (!call_open()) start_call();
    put_arguments(facts_.json);
  }
  if (read != ReadStep::done) return read;
  object_.reset();
  end_call(facts_.id);
  mode_ = Mode::closing;
  ++part_;
  return ReadStep::done;
}

// Marks after the arguments. The call is whole without them.
bool MarkedReader::read_closing() {
  text_.release();
  for (; part_ < dialect_.call.size(); ++part_) {
    const ReadStep result = read_mark(dialect_.call[part_]);
    if (result == ReadStep::more) return false;
    if (result == ReadStep::bad) {
      warn(ToolWarning::Kind::missing_end);
      break;
    }
  }
  const bool several = dialect_.parallel && (!dialect_.section_end.empty() || dialect_.bare);
  if (several) {
    mode_ = Mode::between;
  } else if (!dialect_.section_end.empty()) {
    mode_ = Mode::section_end;
    part_ = 0;
  } else {
    back_to_text();
  }
  return true;
}

// After a call: another one, or the end of the section.
bool MarkedReader::read_between() {
  if (!text_.skip_space()) return false;
  if (text_.empty()) return false;
  const std::string_view separator = mark_core(dialect_.separator);
  if (!separator.empty()) {
    const MarkMatch match = text_.match(separator);
    if (match == MarkMatch::partial) return false;
    if (match == MarkMatch::full) {
      text_.advance(separator.size());
      return true;
    }
  }
  const MarkMatch ends = match_start(dialect_.section_end);
  if (ends == MarkMatch::partial) return false;
  if (ends == MarkMatch::full) {
    mode_ = Mode::section_end;
    part_ = 0;
    return true;
  }
  const MarkMatch begins = match_start(dialect_.call);
  if (begins == MarkMatch::partial) return false;
  if (begins == MarkMatch::full) {
    text_.hold();
    mode_ = Mode::call;
    part_ = 0;
    facts_ = {};
    token_.clear();
    return true;
  }
  if (section_must_end()) warn(ToolWarning::Kind::missing_end);
  back_to_text();
  return true;
}

// Whether these parts may begin here.
MarkMatch MarkedReader::match_start(const Parts& parts) {
  for (const CallPart& part : parts) {
    MarkMatch match = MarkMatch::no;
    if (part.kind == CallPartKind::mark) {
      match = text_.match(comparable(part));
    } else {
      const bool begins =
          part.kind == CallPartKind::object ? text_.front() == '{' : is_name_byte(text_.front());
      match = begins ? MarkMatch::full : MarkMatch::no;
    }
    if (match != MarkMatch::no || !part.optional) return match;
  }
  return MarkMatch::no;
}

// The marks after the last call. The calls are whole without them.
bool MarkedReader::read_section_end() {
  for (; part_ < dialect_.section_end.size(); ++part_) {
    const ReadStep result = read_mark(dialect_.section_end[part_]);
    if (result == ReadStep::more) return false;
    if (result == ReadStep::done) continue;
    warn(ToolWarning::Kind::missing_end);
    break;
  }
  back_to_text();
  return true;
}

// What may be after a part: all marks up to one that must come.
std::vector<std::string_view> MarkedReader::ends_after(size_t part) const {
  std::vector<std::string_view> ends;
  for (; part < dialect_.call.size(); ++part) {
    const CallPart& next = dialect_.call[part];
    switch (next.kind) {
      case CallPartKind::mark:
        ends.push_back(comparable(next));
        if (!next.optional) return ends;
        break;
      case CallPartKind::tagged:
        ends.push_back(mark_core(dialect_.tagged.begin));
        break;
      case CallPartKind::nested:
        ends.push_back(dialect_.nested.prefix);
        break;
      case CallPartKind::literals:
        ends.push_back({&dialect_.literals.open, 1});
        return ends;
      case CallPartKind::json:
      case CallPartKind::object:
        ends.push_back("{");
        return ends;
      default:
        break;
    }
  }
  return ends;
}

// Every mark that may be after the arguments.
std::vector<std::string_view> MarkedReader::marks_after(size_t part) const {
  std::vector<std::string_view> marks;
  for (; part < dialect_.call.size(); ++part) marks.push_back(comparable(dialect_.call[part]));
  for (const CallPart& end : dialect_.section_end) marks.push_back(comparable(end));
  return marks;
}

// What was read since the call's first mark is text after all.
void MarkedReader::give_up() {
  const bool unfinished = text_.ended() && text_.empty();
  if (!dialect_.bare || call_open()) {
    warn(unfinished ? ToolWarning::Kind::unfinished_call : ToolWarning::Kind::malformed_call);
  }
  if (call_open()) put_text(space_before_call_);
  break_call();
  arguments_.reset();
  object_.reset();
  facts_ = {};
  token_.clear();
  const std::string text(text_.held());
  mode_ = Mode::text;
  reasoning_now_ = was_reasoning_;
  if (dialect_.bare) content_.assume_begun();
  put_text(text);
  text_.release();
}

// After calls the answer may continue with text; whitespace between is not part of it.
void MarkedReader::back_to_text() {
  mode_ = Mode::text;
  reasoning_now_ = false;
  content_.skip_space();
}

}  // namespace

std::unique_ptr<OutputReader> make_marked_reader(ToolDialect dialect, ToolParserOptions options) {
  return std::make_unique<MarkedReader>(std::move(dialect), std::move(options));
}

}  // namespace ruv
