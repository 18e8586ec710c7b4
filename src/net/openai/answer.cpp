#include "net/openai/answer.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/json_writer.h"
#include "net/openai/sessions.h"

namespace ruv {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

int64_t n_characters(std::string_view text) {
  int64_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

// Lives on the network thread; the engine's thread only posts copies of events to it.
class AnswerJob : public std::enable_shared_from_this<AnswerJob> {
 public:
  AnswerJob(const OpenAiService& service, const AnswerShape& shape, const GenerateRequest& request,
            std::vector<ReadyPrompt> prompts, std::shared_ptr<Reply> reply,
            std::shared_ptr<SessionTurn> turn)
      : service_(service),
        shape_(shape),
        params_(request.params),
        terms_(request.terms),
        n_(request.n),
        stream_(request.stream),
        include_usage_(request.include_usage),
        prompts_(std::move(prompts)),
        reply_(std::move(reply)),
        turn_(std::move(turn)) {}

  void start();

 private:
  // A server-sent event around the text that it brings.
  struct Surround {
    std::string before, behind;
  };
  struct Choice {
    std::optional<RequestId> id;
    std::optional<Surround> surround;  // of pieces that are only text; made for the first
    std::string text;
    std::vector<Event::Logprobs> logprobs;
    int64_t text_offset = 0;
    FinishReason finish = FinishReason::none;
    Timings timings;
  };

  Status submit_all();
  void receive(size_t index, const Event& event);
  void note_healed(Choice& choice, const Event& event) const;
  void send_piece(size_t index, const Event& event);
  void keep_piece(Choice& choice, const Event& event);
  void finish_choice(size_t index, const Event& event);
  void keep_turn();
  void close_choice(size_t index);
  void finish_all();
  void fail_all(const ApiError& error);
  void cancel_all();
  bool write_choice(Json choice);
  bool write_event(std::string event);
  Surround surround_of(size_t index) const;
  std::string event_of(Json choice) const;
  Json frame(Json choices) const;
  Json usage() const;
  std::string whole_answer();

  const OpenAiService& service_;
  const AnswerShape& shape_;
  GenerateParams params_;
  ServiceTerms terms_;
  int64_t n_;
  bool stream_;
  bool include_usage_;
  std::vector<ReadyPrompt> prompts_;
  std::shared_ptr<Reply> reply_;
  std::shared_ptr<SessionTurn> turn_;  // until its answer is kept
  std::vector<Choice> choices_;
  size_t n_finished_ = 0;
  std::string id_;
  int64_t created_ = 0;
  bool over_ = false;  // answered, failed or given up: later events are dropped
};

void AnswerJob::start() {
  id_ = shape_.id_prefix() + service_.unique_name();
  created_ = service_.unix_time();
  const Status status = submit_all();
  if (!status.ok()) {
    stream_ = false;  // nothing is sent yet, so the status can still say it
    return fail_all(api_error(status));
  }
  if (stream_) reply_->begin_stream();
  reply_->on_disconnect([self = shared_from_this()] {
    self->over_ = true;
    self->turn_.reset();
    self->cancel_all();
  });
  if (!stream_ || over_) return;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const std::string& echo = prompts_[i / static_cast<size_t>(n_)].echo;
    if (echo.empty() && !shape_.has_opening()) continue;
    if (!write_choice(
            shape_.choice(ChoicePart::opening, static_cast<int64_t>(i), echo, nullptr, nullptr))) {
      return;
    }
  }
}

Status AnswerJob::submit_all() {
  const size_t n_choices = prompts_.size() * static_cast<size_t>(n_);
  choices_.resize(n_choices);
  for (size_t i = 0; i < n_choices; ++i) {
    const ReadyPrompt& prompt = prompts_[i / static_cast<size_t>(n_)];
    choices_[i].text_offset = n_characters(prompt.echo);
    if (!stream_) choices_[i].text = prompt.echo;
    Request request;
    request.prompt = prompt.ids;
    request.params = params_;
    request.terms = terms_;
    request.n_fixed_tokens = prompt.n_fixed;
    if (params_.seed) request.params.seed = *params_.seed + i % static_cast<size_t>(n_);
    request.on_event = [self = shared_from_this(), i](const Event& event) {
      self->reply_->post([self, i, event] { self->receive(i, event); });
    };
    choices_[i].id = TRY(service_.engine->submit(std::move(request)));
  }
  return {};
}

void AnswerJob::receive(size_t index, const Event& event) {
  if (over_) return;
  if (event.n_healed_bytes > 0) note_healed(choices_[index], event);
  if (event.finish == FinishReason::error) return fail_all(api_error(event.status));
  if (event.finish == FinishReason::cancelled) {
    return fail_all(api_error(Status(Code::cancelled, "the answer was cancelled by the server")));
  }
  if (stream_) {
    send_piece(index, event);
  } else {
    keep_piece(choices_[index], event);
  }
  if (event.finish != FinishReason::none && !over_) finish_choice(index, event);
}

// The first token begins in the prompt.
void AnswerJob::note_healed(Choice& choice, const Event& event) const {
  const auto bytes = service_.text->text_of(std::span(event.ids).first(1), true);
  if (!bytes) return;
  choice.text_offset -=
      n_characters(std::string_view(*bytes).substr(0, static_cast<size_t>(event.n_healed_bytes)));
}

void AnswerJob::send_piece(size_t index, const Event& event) {
  if (turn_) choices_[index].text += event.text;
  if (event.logprobs.empty()) {
    if (event.text.empty()) return;
    std::optional<Surround>& surround = choices_[index].surround;
    if (!surround) surround = surround_of(index);
    write_event(surround->before + quoted(event.text) + surround->behind);
    return;
  }
  Json logprobs = shape_.logprobs(*service_.text, event.logprobs, choices_[index].text_offset);
  write_choice(shape_.choice(ChoicePart::piece, static_cast<int64_t>(index), event.text,
                             std::move(logprobs), nullptr));
}

void AnswerJob::keep_piece(Choice& choice, const Event& event) {
  choice.text += event.text;
  choice.logprobs.insert(choice.logprobs.end(), event.logprobs.begin(), event.logprobs.end());
}

void AnswerJob::finish_choice(size_t index, const Event& event) {
  Choice& choice = choices_[index];
  choice.finish = event.finish;
  choice.timings = event.timings;
  if (turn_) return keep_turn();
  close_choice(index);
}

// The client hears of the end only when it is kept.
void AnswerJob::keep_turn() {
  const Choice& choice = choices_.front();
  const Timings& t = choice.timings;
  turn_->keep(choice.text, t.n_prompt_tokens + t.n_generated_tokens,
              [self = shared_from_this()](const Status& status) {
                self->reply_->post([self, status] {
                  if (self->over_) return;
                  self->turn_.reset();
                  if (!status.ok()) return self->fail_all(api_error(status, "session"));
                  self->close_choice(0);
                });
              });
}

void AnswerJob::close_choice(size_t index) {
  ++n_finished_;
  if (stream_ &&
      !write_choice(shape_.choice(ChoicePart::closing, static_cast<int64_t>(index), "", nullptr,
                                  finish_reason_name(choices_[index].finish)))) {
    return;
  }
  if (n_finished_ == choices_.size()) finish_all();
}

void AnswerJob::finish_all() {
  over_ = true;
  if (!stream_) return reply_->send({.body = whole_answer()});
  std::string tail;
  if (include_usage_) {
    Json last = frame(Json::array());
    last["usage"] = usage();
    tail = sse_event(last.dump());
  }
  reply_->write_last(tail + sse_event("[DONE]"));
}

void AnswerJob::fail_all(const ApiError& error) {
  over_ = true;
  turn_.reset();  // the session is free before the client knows
  cancel_all();
  if (stream_) {
    reply_->write_last(sse_event(error_json(error)));
  } else {
    reply_->send(error_response(error));
  }
}

void AnswerJob::cancel_all() {
  for (const Choice& choice : choices_) {
    if (choice.id && choice.finish == FinishReason::none) service_.engine->cancel(*choice.id);
  }
}

std::string AnswerJob::event_of(Json choice) const {
  Json chunk = frame(Json::array({std::move(choice)}));
  if (include_usage_) chunk["usage"] = nullptr;
  return sse_event(chunk.dump());
}

// Behind the text a chunk has only numbers and nulls, so the last mark is the text's.
AnswerJob::Surround AnswerJob::surround_of(size_t index) const {
  constexpr std::string_view kMark = "\"?\"";
  const std::string event = event_of(
      shape_.choice(ChoicePart::piece, static_cast<int64_t>(index), "?", nullptr, nullptr));
  const size_t at = event.rfind(kMark);
  return {event.substr(0, at), event.substr(at + kMark.size())};
}

bool AnswerJob::write_choice(Json choice) { return write_event(event_of(std::move(choice))); }

// False when the client reads too slowly: the answer is then over.
bool AnswerJob::write_event(std::string event) {
  if (reply_->write(std::move(event))) return true;
  if (!over_) {
    fail_all({503, "server_error", "the client reads more slowly than the answer comes", "",
              "client_too_slow"});
  }
  return false;
}

Json AnswerJob::frame(Json choices) const {
  return {{"id", id_},
          {"object", shape_.object_name(stream_)},
          {"created", created_},
          {"model", service_.names.front()},
          {"choices", std::move(choices)}};
}

Json AnswerJob::usage() const {
  Timings sum;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Timings& t = choices_[i].timings;
    sum.n_generated_tokens += t.n_generated_tokens;
    sum.n_drafted_tokens += t.n_drafted_tokens;
    sum.n_accepted_tokens += t.n_accepted_tokens;
    // A prompt with several answers counts once, as its first answer found it.
    if (i % static_cast<size_t>(n_) != 0) continue;
    sum.n_prompt_tokens += t.n_prompt_tokens;
    sum.n_cached_tokens += t.n_cached_tokens;
    if (sum.cache_miss == CacheMiss::none) sum.cache_miss = t.cache_miss;
  }
  return {{"prompt_tokens", sum.n_prompt_tokens},
          {"completion_tokens", sum.n_generated_tokens},
          {"total_tokens", sum.n_prompt_tokens + sum.n_generated_tokens},
          {"prompt_tokens_details",
           {{"cached_tokens", sum.n_cached_tokens}, {"miss", cache_miss_name(sum.cache_miss)}}},
          {"completion_tokens_details",
           {{"accepted_prediction_tokens", sum.n_accepted_tokens},
            {"rejected_prediction_tokens", sum.n_drafted_tokens - sum.n_accepted_tokens}}}};
}

std::string AnswerJob::whole_answer() {
  Json list = Json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    Json logprobs;
    if (params_.n_logprobs >= 0) {
      logprobs = shape_.logprobs(*service_.text, choice.logprobs, choice.text_offset);
    }
    list.push_back(shape_.choice(ChoicePart::whole, static_cast<int64_t>(i), std::move(choice.text),
                                 std::move(logprobs), finish_reason_name(choice.finish)));
  }
  Json answer = frame(std::move(list));
  answer["usage"] = usage();
  return answer.dump();
}

}  // namespace

std::string sse_event(std::string_view text) { return fmt::format("data: {}\n\n", text); }

ApiResult<void> check_prompt(const OpenAiService& service, const std::vector<Token>& ids,
                             const std::string& field) {
  if (ids.empty()) {
    return tl::unexpected(bad_request(field, fmt::format("'{}' gives no tokens", field)));
  }
  const int64_t n_ctx = service.engine->n_ctx();
  const auto n_ids = static_cast<int64_t>(ids.size());
  if (n_ids + 1 > n_ctx) {
    return tl::unexpected(bad_request(
        field,
        fmt::format("the prompt has {} tokens and the answer needs at least one, but the context "
                    "holds {} tokens{}",
                    n_ids, n_ctx,
                    n_ctx < service.text->info().n_ctx_train
                        ? "; shorten the prompt or start the server with a longer --ctx"
                        : ", the most that the model can; shorten the prompt"),
        "context_length_exceeded"));
  }
  const int64_t n_vocab = service.text->info().n_vocab;
  for (const Token id : ids) {
    if (id >= 0 && id < n_vocab) continue;
    return tl::unexpected(bad_request(
        field, fmt::format("'{}': token {} is outside the vocabulary of {}", field, id, n_vocab)));
  }
  return {};
}

ApiResult<void> check_biases(const OpenAiService& service, const GenerateParams& params) {
  const int64_t n_vocab = service.text->info().n_vocab;
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < n_vocab) continue;
    return tl::unexpected(bad_request(
        "logit_bias",
        fmt::format("'logit_bias': token {} is outside the vocabulary of {}", id, n_vocab)));
  }
  return {};
}

void answer_request(const OpenAiService& service, const AnswerShape& shape,
                    const GenerateRequest& request, std::vector<ReadyPrompt> prompts,
                    const std::shared_ptr<Reply>& reply, std::shared_ptr<SessionTurn> turn) {
  auto job = std::make_shared<AnswerJob>(service, shape, request, std::move(prompts), reply,
                                         std::move(turn));
  reply->post([job] { job->start(); });
}

}  // namespace ruv
