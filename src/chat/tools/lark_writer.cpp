#include "chat/tools/lark_writer.h"

#include <algorithm>

#include "base/json.h"
#include "chat/tools/tool_dialect.h"

namespace ruv {

std::string lark_quoted(std::string_view text) { return Json(text).dump(); }

std::string escaped_pattern(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (std::string_view("\\/.*+?()[]{}|^$&~\"#").find(c) != std::string_view::npos) made += '\\';
    if (c == '\n') {
      made += "\\n";
    } else {
      made += c;
    }
  }
  return made;
}

void LarkWriter::rule(std::string_view name, std::string_view body) {
  text_ += fmt::format("{}: {}\n", name, body.empty() ? "\"\"" : body);
}

std::string LarkWriter::new_name() { return fmt::format("r{}", n_names_++); }

std::string LarkWriter::add(std::string_view body) {
  std::string name = new_name();
  rule(name, body);
  return name;
}

std::string LarkWriter::text(std::string_view text) const {
  std::string made;
  while (!text.empty()) {
    size_t at = text.size();
    const std::pair<std::string, Token>* first = nullptr;
    for (const auto& control : control_) {
      const size_t found = text.find(control.first);
      if (found < at) {
        at = found;
        first = &control;
      }
    }
    if (at > 0) made += " " + lark_quoted(text.substr(0, at));
    text.remove_prefix(at);
    if (first == nullptr) break;
    made += fmt::format(" <[{}]>", first->second);
    text.remove_prefix(first->first.size());
  }
  return made;
}

std::string LarkWriter::text_without(const std::vector<std::string_view>& marks,
                                     const TextLimits& limits, std::string_view no_start) {
  std::string body = "/.*/s";
  if (limits.min > 0 || limits.max != UINT64_MAX) {
    const std::string max = limits.max == UINT64_MAX ? "" : std::to_string(limits.max);
    body = fmt::format("/.{{{},{}}}/s", limits.min, max);
  }
  if (!limits.pattern.empty()) body += fmt::format(" & /{}/", limits.pattern);
  for (const std::string_view mark : marks) {
    const std::string_view core = mark_core(mark);
    if (core.empty()) continue;
    body += fmt::format(" & ~/.*{}.*/s", escaped_pattern(core));
  }
  if (!no_start.empty()) {
    body += fmt::format(" & ~/[ \\t\\r\\n]*[{}].*/s", escaped_pattern(no_start));
  }
  const auto [known, is_new] = terminals_.try_emplace(body, terminals_.size());
  std::string name = fmt::format("TEXT{}", known->second);
  if (is_new) rule(name, body);
  return name;
}

void LarkWriter::rewind(const Mark& mark) {
  text_.resize(mark.n_bytes);
  n_names_ = mark.n_names;
  std::erase_if(terminals_, [&](const auto& one) { return one.second >= mark.n_terminals; });
}

}  // namespace ruv
