#include "net/openai/answer_writer.h"

namespace ruv {

uint64_t LogprobsText::n_bytes() const {
  uint64_t n = 0;
  for (const std::string& list : lists) n += list.size();
  return n;
}

std::string sse_event(std::string_view text) { return fmt::format("data: {}\n\n", text); }

std::string sse_event(std::string_view name, std::string_view text) {
  return fmt::format("event: {}\ndata: {}\n\n", name, text);
}

}  // namespace ruv
