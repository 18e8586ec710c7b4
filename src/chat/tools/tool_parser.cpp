#include "chat/tools/tool_parser.h"

#include <algorithm>
#include <utility>

#include "chat/tools/output_reader.h"

namespace ruv {
namespace {

size_t size_without_space(std::string_view text) {
  while (!text.empty() && is_mark_space(text.back())) text.remove_suffix(1);
  return text.size();
}

}  // namespace

std::string TrimmedText::push(std::string_view text) {
  if (skipping_) {
    while (!text.empty() && is_mark_space(text.front())) text.remove_prefix(1);
    if (text.empty()) return {};
    skipping_ = false;
  }
  const size_t n_text = size_without_space(text);
  begun_ |= n_text > 0;
  std::string out;
  if (n_text > 0) out = std::exchange(held_, {});
  out += text.substr(0, n_text);
  held_ += text.substr(n_text);
  const size_t most = begun_ ? n_kept_back_ : kMaxLeading;
  if (held_.size() > most) {
    begun_ = true;
    const size_t n_out = held_.size() - std::min(held_.size(), n_kept_back_);
    out += held_.substr(0, n_out);
    held_.erase(0, n_out);
  }
  return out;
}

std::string TrimmedText::flush() { return std::exchange(held_, {}); }

std::string TrimmedText::flush_before(std::string_view gap) {
  std::string out = flush();
  if (!begun_) return {};
  if (out.ends_with(gap)) out.resize(out.size() - gap.size());
  return out;
}

void OutputReader::feed(std::string_view text, std::vector<ToolDelta>& deltas) {
  if (done_) return;
  deltas_ = &deltas;
  text_.append(text);
  read();
}

void OutputReader::finish(std::vector<ToolDelta>& deltas) {
  if (done_) return;
  deltas_ = &deltas;
  text_.end();
  read();
  if (!done_) close();
}

void OutputReader::put(ToolDelta::Kind kind, size_t call, std::string_view text) {
  if (text.empty()) return;
  std::vector<ToolDelta>& deltas = *deltas_;
  if (!deltas.empty() && deltas.back().kind == kind && deltas.back().call == call) {
    deltas.back().text += text;
  } else {
    deltas.push_back({kind, call, std::string(text), {}});
  }
}

void OutputReader::begin_call(const std::string& name, const std::string& id) {
  deltas_->push_back({ToolDelta::Kind::call_begin, n_begun_++, name, id});
  call_open_ = true;
}

void OutputReader::put_arguments(std::string& json) {
  put(ToolDelta::Kind::arguments, n_begun_ - 1, json);
  json.clear();
}

void OutputReader::end_call(const std::string& late_id) {
  deltas_->push_back({ToolDelta::Kind::call_end, n_begun_ - 1, {}, late_id});
  call_open_ = false;
  done_ = ++n_ended_ == options_.max_calls;
}

void OutputReader::break_call() {
  if (call_open_) deltas_->push_back({ToolDelta::Kind::call_broken, n_begun_ - 1, {}, {}});
  call_open_ = false;
}

ToolParser::ToolParser(ToolDialect dialect, ToolParserOptions options)
    : reader_(dialect.shape == ToolDialect::Shape::channels
                  ? make_channel_reader(std::move(dialect), std::move(options))
                  : make_marked_reader(std::move(dialect), std::move(options))) {}
ToolParser::~ToolParser() = default;
ToolParser::ToolParser(ToolParser&&) noexcept = default;

void ToolParser::feed(std::string_view text, std::vector<ToolDelta>& deltas) {
  reader_->feed(text, deltas);
}
void ToolParser::finish(std::vector<ToolDelta>& deltas) { reader_->finish(deltas); }
bool ToolParser::done() const { return reader_->done(); }
const std::vector<ToolWarning>& ToolParser::warnings() const { return reader_->warnings(); }
uint64_t ToolParser::work() const { return reader_->work(); }

ToolMessage parse_output(const ToolDialect& dialect, const ToolParserOptions& options,
                         std::string_view text, std::vector<ToolWarning>* warnings) {
  ToolParser parser(dialect, options);
  std::vector<ToolDelta> deltas;
  parser.feed(text, deltas);
  parser.finish(deltas);
  ToolMessage message;
  for (const ToolDelta& delta : deltas) message.add(delta);
  if (warnings != nullptr) *warnings = parser.warnings();
  return message;
}

}  // namespace ruv
