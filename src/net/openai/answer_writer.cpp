#include "net/openai/answer_writer.h"

#include "base/json_writer.h"
#include "base/utf8.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

// One of the alternatives in a place of the prompt; its object stays open.
void write_scored(JsonWriter& out, const ModelText& text, const TokenLogprob& token, int64_t rank) {
  out.key(std::to_string(token.id));
  out.begin_object();
  out.key("logprob");
  out.real(finite_logprob(token.logprob));
  out.key("rank");
  out.integer(rank);
  out.key("decoded_token");
  out.text(to_valid_utf8(token_bytes(text, token.id)));
  out.end_object();
}

}  // namespace

uint64_t LogprobsText::n_bytes() const {
  uint64_t n = 0;
  for (const std::string& list : lists) n += list.size();
  return n + prompt.size();
}

// As vLLM has it: the prompt's own token first, then the likeliest others.
std::string prompt_logprobs_list(const ModelText& text, std::span<const Event::Logprobs> scores,
                                 size_t n_top) {
  std::string list = "null";
  for (const Event::Logprobs& score : scores) {
    begin_element(list);
    JsonWriter out(list);
    out.begin_object();
    write_scored(out, text, score.chosen, score.rank);
    for (size_t i = 0; i < std::min(n_top, score.top.size()); ++i) {
      if (score.top[i].id == score.chosen.id) continue;
      write_scored(out, text, score.top[i], static_cast<int64_t>(i) + 1);
    }
    out.end_object();
  }
  return list;
}

std::string sse_event(std::string_view text) { return fmt::format("data: {}\n\n", text); }

std::string sse_event(std::string_view name, std::string_view text) {
  return fmt::format("event: {}\ndata: {}\n\n", name, text);
}

}  // namespace ruv
