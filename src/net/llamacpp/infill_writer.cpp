#include "base/json.h"
#include "net/llamacpp/infill.h"

namespace ruv {
namespace {

double per_token(double ms, int64_t n) { return n > 0 ? ms / static_cast<double>(n) : 0; }

// Null: there is none.
const Json* member_at(const Json& answer, std::string_view path) {
  const Json* at = &answer;
  while (at != nullptr) {
    const size_t end = path.find('/');
    at = at->is_object() ? find_field(*at, path.substr(0, end)) : nullptr;
    if (end == std::string_view::npos) break;
    path.remove_prefix(end + 1);
  }
  return at;
}

// An event has the next piece of the text; the last event has counts and times instead.
class InfillWriter final : public AnswerWriter {
 public:
  InfillWriter(AnswerHead head, std::vector<std::string> members)
      : head_(std::move(head)), members_(std::move(members)) {}

  std::string begin(size_t, std::string_view) override { return {}; }

  std::string piece(const AnswerPiece& piece) override {
    if (piece.text.empty()) return {};
    return sse_event(Json{{"content", piece.text}, {"stop", false}}.dump());
  }

  std::string close(const FinishedChoice& choice) override {
    set_end(choice);
    return {};
  }
  std::string end(const AnswerUsage& usage) override {
    return sse_event(wanted(last("", usage)).dump());
  }
  std::string failure(const ApiError& error) override {
    return sse_event(error_response(error).body);
  }

  std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) override {
    set_end(choices.front());
    return wanted(last(choices.front().text, usage)).dump();
  }

  void add_logprobs(const ModelText&, const Event::Logprobs&, LogprobsText&) const override {}

 private:
  void set_end(const FinishedChoice& choice) {
    stop_text_ = choice.stop_text;
    stop_type_ = choice.finish == "length" ? "limit" : stop_text_.empty() ? "eos" : "word";
  }

  Json wanted(Json answer) const {
    if (members_.empty()) return answer;
    Json found = Json::object();
    for (const std::string& path : members_) {
      if (const Json* const member = member_at(answer, path)) found[path] = *member;
    }
    return found;
  }

  Json last(std::string_view content, const AnswerUsage& usage) const {
    return {{"content", content},
            {"tokens", Json::array()},
            {"stop", true},
            {"model", head_.model},
            {"tokens_predicted", usage.n_generated_tokens},
            {"tokens_evaluated", usage.n_prompt_tokens},
            {"tokens_cached", usage.n_cached_tokens},
            {"truncated", usage.n_dropped_tokens > 0},
            {"stop_type", stop_type_},
            {"stopping_word", stop_text_},
            {"timings",
             {{"cache_n", usage.n_cached_tokens},
              {"prompt_n", usage.n_prompt_tokens - usage.n_cached_tokens},
              {"prompt_ms", usage.prefill_ms},
              {"prompt_per_token_ms",
               per_token(usage.prefill_ms, usage.n_prompt_tokens - usage.n_cached_tokens)},
              {"prompt_per_second", usage.prefill_tokens_per_s},
              {"predicted_n", usage.n_generated_tokens},
              {"predicted_ms", usage.decode_ms},
              {"predicted_per_token_ms", per_token(usage.decode_ms, usage.n_generated_tokens)},
              {"predicted_per_second", usage.decode_tokens_per_s}}}};
  }

  AnswerHead head_;
  std::vector<std::string> members_;
  std::string stop_type_;
  std::string stop_text_;
};

}  // namespace

std::unique_ptr<AnswerWriter> infill_writer(AnswerHead head, std::vector<std::string> members) {
  return std::make_unique<InfillWriter>(std::move(head), std::move(members));
}

}  // namespace ruv
