#include "text_lines.h"

#include <algorithm>

#include "base/file.h"
#include "standard_input.h"

namespace ruv {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t n = end - at - (end > at && text[end - 1] == '\r' ? 1 : 0);
    lines.push_back(text.substr(at, n));
    at = end + 1;
  }
  return lines;
}

}  // namespace

Result<std::vector<std::string>> given_texts(const std::vector<std::string>& texts,
                                             const std::string& file) {
  if (!texts.empty()) return texts;
  std::vector<std::string> lines =
      lines_of(file.empty() ? TRY(read_stdin()) : TRY(read_text_file(file)));
  if (lines.empty()) return fail(Code::invalid, "no text is given");
  return lines;
}

Result<int64_t> most_tokens(const Engine& engine) {
  const EmbedInfo info = TRY(embed_info(engine.model()));
  return info.max_tokens == 0 ? engine.n_ctx() : std::min(engine.n_ctx(), info.max_tokens);
}

void add_text_flags(CommandLine& line, EngineCall& engine, bool& truncate) {
  line.flag("--truncate", truncate,
            "Texts that are too long lose their end; otherwise they are refused");
  line.threads(engine.n_threads);
  line.kv(engine.kv_type);
  line.integer("--ctx,-c", engine.n_ctx, 0, int64_t{1} << 24,
               "Longest text in tokens; 0: what the model was trained for");
  line.integer("--parallel", engine.max_sequences, 1, 1024,
               "Texts that are computed at the same time");
}

}  // namespace ruv
