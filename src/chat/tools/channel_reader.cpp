// Answers that are messages: <|start|>role to=recipient<|channel|>channel<|message|>body<|end|>.
// The header says whether a body is reasoning, text, or a call's arguments; its parts come in any
// order.
#include <algorithm>
#include <utility>

#include "chat/tools/output_reader.h"

namespace ruv {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::string_view kEnds[] = {"<|end|>", "<|return|>", "<|call|>"};
constexpr std::string_view kFunctions = "functions.";
constexpr size_t kMaxHeader = 1024;

// What follows the last `mark` in a header, up to whitespace or the next mark.
std::string_view word_after(std::string_view header, std::string_view mark) {
  const size_t at = header.rfind(mark);
  if (at == std::string_view::npos) return {};
  std::string_view word = header.substr(at + mark.size());
  size_t n = 0;
  while (n < word.size() && !is_mark_space(word[n]) && !word.substr(n).starts_with("<|")) ++n;
  return word.substr(0, n);
}

bool is_known_word(std::string_view word) {
  constexpr std::string_view kWords[] = {"assistant", "json",       "code",
                                         "analysis",  "commentary", "final"};
  return word.empty() || word.starts_with("to=") ||
         std::ranges::find(kWords, word) != std::end(kWords);
}

// Whether all words of a header are known.
bool is_known_header(std::string_view header) {
  while (!header.empty()) {
    size_t n = 0;
    while (n < header.size() && !is_mark_space(header[n]) && !header.substr(n).starts_with("<|"))
      ++n;
    if (!is_known_word(header.substr(0, n))) return false;
    header.remove_prefix(n);
    if (header.starts_with(kChannel)) {
      header.remove_prefix(kChannel.size());
    } else if (header.starts_with(kConstrain)) {
      header.remove_prefix(kConstrain.size());
    } else if (!header.empty()) {
      if (!is_mark_space(header.front())) return false;
      header.remove_prefix(1);
    }
  }
  return true;
}

class ChannelReader final : public OutputReader {
 public:
  ChannelReader(ToolDialect dialect, ToolParserOptions options)
      : OutputReader(std::move(dialect), std::move(options)) {
    std::string_view tail = options_.prompt_tail;
    const size_t start = tail.rfind(kStart);
    if (start != tail.npos) tail.remove_prefix(start + kStart.size());
    const size_t message = tail.find(kMessage);
    if (start == tail.npos || message == tail.npos) return;
    begin_body(tail.substr(0, message));
    if (body_ == Body::reasoning && !options_.reasoning_apart) opening_ = std::string(tail);
  }

 private:
  enum class Mode : uint8_t { header, body, arguments, between };
  enum class Body : uint8_t { content, reasoning, call, other };

  void read() override {
    if (!opening_.empty()) put_content(std::exchange(opening_, {}));
    if (mode_ == Mode::header && header_.empty() && !header_held_) hold_header();
    while (!done() && step()) {
    }
  }

  void close() override {
    if (mode_ == Mode::arguments) give_up(ToolWarning::Kind::unfinished_call);
    if (mode_ == Mode::header && !mark_core(header_).empty()) {
      warn(ToolWarning::Kind::malformed_call);
      put_content(text_.held());
    }
  }

  bool step() {
    switch (mode_) {
      case Mode::header:
        return read_header();
      case Mode::body:
        return read_body();
      case Mode::arguments:
        return read_arguments();
      case Mode::between:
        return read_between();
    }
    return false;
  }

  void hold_header() {
    text_.hold();
    header_held_ = true;
  }

  // Everything up to the mark of the body. Text that is not a header at all is content.
  bool read_header() {
    while (!text_.empty()) {
      const MarkMatch match = text_.match(kMessage);
      if (match == MarkMatch::partial) return false;
      if (match == MarkMatch::full) {
        text_.advance(kMessage.size());
        begin_body(header_);
        return true;
      }
      if (header_.size() == kMaxHeader) {
        warn(ToolWarning::Kind::malformed_call);
        put_content(text_.held());
        body_ = Body::content;
        mode_ = Mode::body;
        return true;
      }
      header_ += text_.front();
      text_.advance(1);
    }
    return false;
  }

  // The header is whole: its recipient comes before its channel.
  void begin_body(std::string_view header) {
    const std::string_view channel = word_after(header, kChannel);
    const std::string_view recipient = word_after(header, "to=");
    mode_ = Mode::body;
    if (options_.calls && recipient.starts_with(kFunctions)) {
      name_ = std::string(recipient.substr(kFunctions.size()));
      body_ = Body::call;
      mode_ = Mode::arguments;
    } else if (channel == "analysis") {
      body_ = Body::reasoning;
    } else if (recipient.empty() || recipient == "assistant" || recipient == "user") {
      body_ = Body::content;
    } else {
      body_ = Body::other;
    }
    if (header_held_ && body_ != Body::other && !is_known_header(header)) {
      warn(ToolWarning::Kind::unknown_header);
    }
    const bool raw =
        body_ == Body::other || (body_ == Body::reasoning && !options_.reasoning_apart);
    raw_ = raw && header_held_;
  }

  // Texts, up to a mark that ends them.
  bool read_body() {
    if (raw_) {
      if (body_ == Body::other) warn(ToolWarning::Kind::unknown_recipient);
      put_content(text_.held());
      raw_ = false;
      show_end_ = true;
    }
    text_.release();
    while (!text_.empty()) {
      const std::string_view rest = text_.rest();
      const size_t n = std::min(rest.find('<'), rest.size());
      put_body(rest.substr(0, n));
      text_.advance(n);
      if (text_.empty()) break;
      const MarkMatch match = read_end();
      if (match == MarkMatch::partial) return false;
      if (match == MarkMatch::full) return true;
      put_body(text_.rest().substr(0, 1));
      text_.advance(1);
    }
    return false;
  }

  void put_body(std::string_view text) {
    if (body_ == Body::reasoning && options_.reasoning_apart) {
      put_reasoning(text);
    } else {
      put_content(text);
    }
  }

  // The end of a body; the beginning of the next message is one, too.
  MarkMatch read_end() {
    for (const std::string_view end : kEnds) {
      const MarkMatch match = text_.match(end);
      if (match == MarkMatch::no) continue;
      if (match == MarkMatch::partial) return match;
      if (show_end_) put_content(end);
      text_.advance(end.size());
      begin_between();
      return match;
    }
    const MarkMatch match = text_.match(kStart);
    if (match == MarkMatch::full) begin_between();
    return match;
  }

  void begin_between() {
    mode_ = Mode::between;
    show_end_ = false;
  }

  // The body of a message to a tool.
  bool read_arguments() {
    if (arguments_ == nullptr) {
      arguments_ = make_json_reader();
      begin_call(name_, {});
    }
    const ReadStep read = arguments_->read(text_, json_, warnings_);
    put_arguments(json_);
    if (read == ReadStep::bad) {
      const bool unfinished = text_.ended() && text_.empty();
      give_up(unfinished ? ToolWarning::Kind::unfinished_call : ToolWarning::Kind::malformed_call);
      return true;
    }
    if (read == ReadStep::more) return false;
    arguments_.reset();
    text_.release();
    end_call({});
    begin_between();
    return true;
  }

  // The whole message is content after all.
  void give_up(ToolWarning::Kind why) {
    warn(why);
    break_call();
    arguments_.reset();
    json_.clear();
    put_content(text_.held());
    text_.release();
    body_ = Body::content;
    mode_ = Mode::body;
  }

  // After a message: another one. Text that is in none is content.
  bool read_between() {
    if (!text_.skip_space() || text_.empty()) return false;
    const MarkMatch match = text_.match(kStart);
    if (match == MarkMatch::partial) return false;
    if (match == MarkMatch::full) {
      hold_header();
      text_.advance(kStart.size());
      header_.clear();
      mode_ = Mode::header;
      return true;
    }
    const MarkMatch ended = read_end();
    if (ended == MarkMatch::partial) return false;
    if (ended == MarkMatch::full) return true;
    body_ = Body::content;
    mode_ = Mode::body;
    return true;
  }

  Mode mode_ = Mode::header;
  Body body_ = Body::content;
  std::string header_;
  bool header_held_ = false;  // the text since the header is kept
  bool raw_ = false;          // the header is content, too
  bool show_end_ = false;     // … and the end
  std::string opening_;       // of the prompt, which is content
  std::string name_;
  std::string json_;
  std::unique_ptr<ArgumentReader> arguments_;
};

}  // namespace

std::unique_ptr<OutputReader> make_channel_reader(ToolDialect dialect, ToolParserOptions options) {
  return std::make_unique<ChannelReader>(std::move(dialect), std::move(options));
}

}  // namespace ruv
