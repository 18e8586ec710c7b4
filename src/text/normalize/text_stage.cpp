// Steps that look at the whole text: its ends, and texts in it.
#include "text/normalize/char_sets.h"
#include "text/normalize/stage.h"
#include "text/read_char.h"
#include "text/split/regex_scanner.h"

namespace ruv {
namespace {

// strip_left and strip_right.
class StripStage final : public NormalizerStage {
 public:
  explicit StripStage(bool left) : left_(left) {}

  bool may_change(std::string_view text) const override {
    return left_ ? space_at(text, 0) > 0 : last_end(text) < text.size();
  }

  void apply(std::string_view text, bool with_origin, NormalizedText& out) const override {
    TextBuilder builder(out, with_origin);
    size_t begin = 0;
    while (left_ && space_at(text, begin) > 0) begin += space_at(text, begin);
    builder.copy(text, begin, left_ ? text.size() : last_end(text));
    builder.finish(text.size());
  }

 private:
  static size_t space_at(std::string_view text, size_t at) {
    if (at >= text.size()) return 0;
    const CodePoint c = read_char(text, at);
    return c.valid && is_white_space(c.value) ? c.size : 0;
  }
  // Where the white space at the end begins.
  static size_t last_end(std::string_view text) {
    size_t end = text.size();
    while (end > 0) {
      size_t begin = end - 1;
      while (begin > 0 && end - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
      if (space_at(text.substr(0, end), begin) != end - begin) break;
      end = begin;
    }
    return end;
  }

  bool left_;
};

// prepend.
class PrependStage final : public NormalizerStage {
 public:
  explicit PrependStage(std::string content) : content_(std::move(content)) {}

  bool may_change(std::string_view text) const override {
    return !text.empty() && !content_.empty();
  }

  void apply(std::string_view text, bool with_origin, NormalizedText& out) const override {
    TextBuilder builder(out, with_origin);
    if (!text.empty()) builder.put(content_, 0);
    builder.copy(text, 0, text.size());
    builder.finish(text.size());
  }

 private:
  std::string content_;
};

// replace_text.
class ReplaceStage final : public NormalizerStage {
 public:
  ReplaceStage(std::string pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  bool may_change(std::string_view text) const override {
    return !pattern_.empty() && text.find(pattern_) != std::string_view::npos;
  }

  void apply(std::string_view text, bool with_origin, NormalizedText& out) const override {
    TextBuilder builder(out, with_origin);
    size_t at = 0;
    while (!pattern_.empty()) {
      const size_t found = text.find(pattern_, at);
      if (found == std::string_view::npos) break;
      builder.copy(text, at, found);
      builder.put(content_, found);
      at = found + pattern_.size();
    }
    builder.copy(text, at, text.size());
    builder.finish(text.size());
  }

 private:
  std::string pattern_;
  std::string content_;
};

// replace_regex.
class ReplaceRegexStage final : public NormalizerStage {
 public:
  ReplaceRegexStage(RegexScanner scanner, std::string content)
      : scanner_(std::move(scanner)), content_(std::move(content)) {}

  bool may_change(std::string_view text) const override {
    return scanner_.find(text, 0).has_value();
  }

  void apply(std::string_view text, bool with_origin, NormalizedText& out) const override {
    TextBuilder builder(out, with_origin);
    size_t copied = 0;
    for (size_t from = 0; from <= text.size();) {
      const std::optional<Word> match = scanner_.find(text, from);
      if (!match) break;
      builder.copy(text, copied, match->begin);
      builder.put(content_, match->begin);
      copied = from = match->end;
      if (match->end > match->begin) continue;
      // After an empty match the next one is searched one character later.
      from += from < text.size() ? read_char(text, from).size : 1;
    }
    builder.copy(text, copied, text.size());
    builder.finish(text.size());
  }

 private:
  RegexScanner scanner_;
  std::string content_;
};

}  // namespace

Result<StagePtr> make_text_stage(const NormalizerStep& step) {
  switch (step.kind) {
    case NormalizerKind::strip_left:
    case NormalizerKind::strip_right:
      return StagePtr(std::make_shared<StripStage>(step.kind == NormalizerKind::strip_left));
    case NormalizerKind::prepend:
      return StagePtr(std::make_shared<PrependStage>(step.content));
    case NormalizerKind::replace_text:
      return StagePtr(std::make_shared<ReplaceStage>(step.pattern, step.content));
    default:
      return StagePtr(std::make_shared<ReplaceRegexStage>(TRY(RegexScanner::create(step.pattern)),
                                                          step.content));
  }
}

}  // namespace ruv
