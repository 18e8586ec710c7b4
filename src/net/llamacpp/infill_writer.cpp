#include "base/json.h"
#include "net/llamacpp/infill.h"

namespace ruv {
namespace {

// An event has the next piece of the text; the last event has counts and times instead.
class InfillWriter final : public AnswerWriter {
 public:
  explicit InfillWriter(AnswerHead head) : head_(std::move(head)) {}

  std::string begin(size_t, std::string_view) override { return {}; }

  std::string piece(const AnswerPiece& piece) override {
    if (piece.text.empty()) return {};
    return sse_event(Json{{"content", piece.text}, {"stop", false}}.dump());
  }

  std::string close(const FinishedChoice& choice) override {
    set_end(choice);
    return {};
  }
  std::string end(const AnswerUsage& usage) override { return sse_event(last("", usage).dump()); }
  std::string failure(const ApiError& error) override {
    return sse_event(error_response(error).body);
  }

  std::string whole(std::span<const FinishedChoice> choices, const AnswerUsage& usage) override {
    set_end(choices.front());
    return last(choices.front().text, usage).dump();
  }

  void add_logprobs(const ModelText&, const Event::Logprobs&, LogprobsText&) const override {}

 private:
  void set_end(const FinishedChoice& choice) {
    stop_text_ = choice.stop_text;
    stop_type_ = choice.finish == "length" ? "limit" : stop_text_.empty() ? "eos" : "word";
  }

  Json last(std::string_view content, const AnswerUsage& usage) const {
    return {{"content", content},
            {"tokens", Json::array()},
            {"stop", true},
            {"model", head_.model},
            {"tokens_predicted", usage.n_generated_tokens},
            {"tokens_evaluated", usage.n_prompt_tokens},
            {"tokens_cached", usage.n_cached_tokens},
            {"truncated", false},
            {"stop_type", stop_type_},
            {"stopping_word", stop_text_},
            {"timings",
             {{"cache_n", usage.n_cached_tokens},
              {"prompt_n", usage.n_prompt_tokens - usage.n_cached_tokens},
              {"prompt_ms", usage.prefill_ms},
              {"prompt_per_second", usage.prefill_tokens_per_s},
              {"predicted_n", usage.n_generated_tokens},
              {"predicted_ms", usage.decode_ms},
              {"predicted_per_second", usage.decode_tokens_per_s}}}};
  }

  AnswerHead head_;
  std::string stop_type_;
  std::string stop_text_;
};

}  // namespace

std::unique_ptr<AnswerWriter> infill_writer(AnswerHead head) {
  return std::make_unique<InfillWriter>(std::move(head));
}

}  // namespace ruv
