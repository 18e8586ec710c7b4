#include "chat/tools/argument_reader.h"
#include "chat/tools/json_scan.h"
#include "chat/tools/literal_scan.h"

namespace ruv {
namespace {

class JsonReader final : public ArgumentReader {
 public:
  ReadStep read(TextCursor& text, std::string& json, ToolWarnings& warnings) override {
    if (!begun_) {
      if (!text.skip_space()) return ReadStep::more;
      if (text.empty() || text.front() != '{') return ReadStep::bad;
      begun_ = true;
    }
    while (!text.empty()) {
      const JsonScan::Verdict verdict = scan_.push(text.front(), json);
      if (verdict == JsonScan::Verdict::bad) return ReadStep::bad;
      if (scan_.repaired() && !warned_) {
        warnings.push_back({ToolWarning::Kind::control_in_string, text.offset()});
        warned_ = true;
      }
      text.advance(1);
      if (verdict == JsonScan::Verdict::done) return ReadStep::done;
    }
    return text.ended() ? ReadStep::bad : ReadStep::more;
  }

 private:
  JsonScan scan_;
  bool begun_ = false;
  bool warned_ = false;
};

class LiteralReader final : public ArgumentReader {
 public:
  explicit LiteralReader(const LiteralArguments& syntax)
      : open_(syntax.open), scan_(LiteralScan::arguments(syntax)) {}

  ReadStep read(TextCursor& text, std::string& json, ToolWarnings&) override {
    if (!begun_) {
      if (!text.skip_space()) return ReadStep::more;
      if (text.empty() || text.front() != open_) return ReadStep::bad;
      text.advance(1);
      json += '{';
      begun_ = true;
    }
    return scan_.read(text, json);
  }

 private:
  char open_;
  LiteralScan scan_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<ArgumentReader> make_json_reader() { return std::make_unique<JsonReader>(); }

std::unique_ptr<ArgumentReader> make_literal_reader(const ToolDialect& dialect) {
  return std::make_unique<LiteralReader>(dialect.literals);
}

}  // namespace ruv
