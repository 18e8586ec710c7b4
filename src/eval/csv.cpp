#include "eval/csv.h"

#include <algorithm>

namespace ruv {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view content, std::string_view source)
      : content_(content), source_(source) {}

  bool at_end() const { return at_ == content_.size(); }

  Result<CsvRow> row() {
    CsvRow row{.line = line_, .fields = {}};
    for (;;) {
      row.fields.push_back(TRY(field()));
      if (!at_end() && content_[at_] == ',') {
        ++at_;
        continue;
      }
      end_line();
      return row;
    }
  }

 private:
  Result<std::string> field() {
    if (!at_end() && content_[at_] == '"') return quoted();
    const size_t end = std::min(content_.find_first_of(",\r\n", at_), content_.size());
    std::string text(content_.substr(at_, end - at_));
    at_ = end;
    return text;
  }

  Result<std::string> quoted() {
    const int64_t first_line = line_;
    std::string text;
    ++at_;
    for (;;) {
      const size_t end = content_.find('"', at_);
      if (end == content_.npos) {
        return fail(Code::corrupt, "{}: line {}: a quote that does not end", source_, first_line);
      }
      const std::string_view part = content_.substr(at_, end - at_);
      line_ += std::ranges::count(part, '\n');
      text += part;
      at_ = end + 1;
      if (at_end() || content_[at_] != '"') break;
      text += '"';
      ++at_;
    }
    if (!at_end() && std::string_view(",\r\n").find(content_[at_]) == std::string_view::npos) {
      return fail(Code::corrupt, "{}: line {}: text after a quote", source_, line_);
    }
    return text;
  }

  void end_line() {
    if (!at_end() && content_[at_] == '\r') ++at_;
    if (!at_end() && content_[at_] == '\n') ++at_;
    ++line_;
  }

  std::string_view content_, source_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

Result<std::vector<CsvRow>> read_csv(std::string_view content, std::string_view source,
                                     int64_t limit) {
  CsvReader reader(content, source);
  std::vector<CsvRow> rows;
  while (!reader.at_end() && (limit == 0 || std::ssize(rows) < limit)) {
    CsvRow row = TRY(reader.row());
    const bool is_empty = row.fields.size() == 1 && row.fields.front().empty();
    if (!is_empty) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ruv
