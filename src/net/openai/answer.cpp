#include "net/openai/answer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/token_ids.h"
#include "base/utf8.h"
#include "net/metrics.h"
#include "net/openai/event_inbox.h"
#include "net/openai/noted_texts.h"
#include "net/openai/sessions.h"
#include "net/openai/token_text.h"

namespace ruv {
namespace {

// The step in which the bytes kept for an answer are counted.
constexpr uint64_t kHoldStepBytes = 16 << 10;

// Lives on the network thread; the engine's thread only passes copies of events to it.
class AnswerJob : public std::enable_shared_from_this<AnswerJob> {
 public:
  AnswerJob(const OpenAiService& service, MakeWriter make_writer, const GenerateRequest& request,
            std::vector<ReadyPrompt> prompts, std::shared_ptr<Reply> reply,
            std::shared_ptr<SessionTurn> turn)
      : service_(service),
        make_writer_(std::move(make_writer)),
        params_(request.params),
        terms_(request.terms),
        adapters_(request.adapters),
        model_(shown_model(service, request.model)),
        form_(request.loaded),
        n_(request.best_of),
        n_returned_(request.n),
        stream_(request.stream),
        include_usage_(request.include_usage),
        scores_echo_(request.scores_echo()),
        n_prompt_top_(request.n_prompt_top),
        prompts_(std::move(prompts)),
        reply_(std::move(reply)),
        turn_(std::move(turn)) {}

  void start();

 private:
  using Clock = std::chrono::steady_clock;
  struct Work {
    std::optional<RequestId> id;
    std::string text;
    std::unique_ptr<AnswerReader> reader;  // null: the answer is text
    bool ending = false;                   // the engine was asked to end it
    int64_t n_received = 0;                // tokens that came
    int64_t n_tokens = 0;                  // read until it was
    int64_t n_reasoning_tokens = 0;
    int64_t n_undecided_tokens = 0;       // whose text the reader still holds back
    int64_t n_text_bytes = 0;             // that the model wrote
    double logprob_sum = 0;               // of its tokens, where these have log-probabilities
    int64_t n_scored = 0;                 // how many have
    std::optional<Clock::time_point> at;  // when its last tokens came
    int64_t n_repair_bytes = 0;           // as the last event says
    LogprobsText logprobs;
    bool is_scored = false;  // what the first event says of the prompt was read
    FinishReason finish = FinishReason::none;
    std::string stop_text;
    Token stop_token = -1;
    Timings timings;
  };

  void make_writer();
  void note_usage(const AnswerUsage& sum);
  void note_part();
  void note_contents();
  void make_inbox();
  Status submit_all();
  std::function<void(const Event&)> on_event_of(size_t index);
  void take_events();
  void receive(size_t index, const Event& event);
  const ReadyPrompt& prompt_of(size_t choice) const {
    return prompts_[choice / static_cast<size_t>(n_)];
  }
  void read_scores(size_t index, const Event& event);
  LogprobsText echo_logprobs(const ReadyPrompt& prompt, const Event& event) const;
  void count_tokens(Work& work, const Event& event) const;
  void note_healed(Work& work, const Event& event) const;
  void read_parts(size_t index, const Event& event);
  void send_parts(size_t index, const Event& event, const std::vector<ToolDelta>& deltas);
  LogprobsText piece_logprobs(Work& work, const Event& event) const;
  std::string_view finish_name(const Work& work) const;
  static std::vector<AnswerWarning> warnings_of(const Work& work);
  FinishedChoice finished(size_t index) const;
  Message message_of(const Work& work) const;
  void send_piece(size_t index, const Event& event);
  void keep_piece(Work& work, const Event& event);
  bool has_best() const { return n_returned_ < n_; }
  std::vector<size_t> returned_choices() const;
  bool keeps_text() const { return !stream_ || turn_ != nullptr || writer_->keeps_text(); }
  bool make_room(uint64_t n_bytes);
  void finish_choice(size_t index, const Event& event);
  void keep_turn();
  void close_choice(size_t index);
  void finish_all();
  void send_end(std::string bytes);
  void fail_all(const ApiError& error);
  void cancel_all();
  bool write(std::string bytes);
  AnswerUsage usage() const;
  std::string whole_answer(const AnswerUsage& sum) const;

  const OpenAiService& service_;
  MakeWriter make_writer_;
  std::unique_ptr<AnswerWriter> writer_;
  GenerateParams params_;
  ServiceTerms terms_;
  std::optional<std::vector<AdapterUse>> adapters_;
  std::string model_;  // as the answer names it
  std::shared_ptr<const LoadedForm> form_;
  int64_t n_;           // answers to each prompt
  int64_t n_returned_;  // the best of these
  bool stream_;
  bool include_usage_;
  bool scores_echo_;      // the prompt is part of the text, with log-probabilities
  int32_t n_prompt_top_;  // alternatives in prompt_logprobs; -1: not asked for
  std::vector<ReadyPrompt> prompts_;
  std::shared_ptr<Reply> reply_;
  std::shared_ptr<SessionTurn> turn_;  // until its answer is kept
  std::vector<Work> works_;            // one for each choice
  std::unique_ptr<EventInbox> inbox_;  // null: each event is posted by itself
  uint64_t n_kept_bytes_ = 0;
  uint64_t n_held_bytes_ = 0;  // as the reply knows
  size_t n_finished_ = 0;
  std::optional<RequestContents> contents_;  // none: they are not noted
  std::string name_;
  bool is_submitted_ = false;
  bool over_ = false;  // answered, failed or given up: later events are dropped
};

// All that the writer learns before the first token.
void AnswerJob::make_writer() {
  name_ = service_.unique_name();
  AnswerHead head{.name = name_,
                  .created = service_.unix_time(),
                  .model = model_,
                  .stream = stream_,
                  .include_usage = include_usage_};
  for (const ReadyPrompt& prompt : prompts_) head.n_prompt_tokens += std::ssize(prompt.ids);
  if (form_ != nullptr) head.notes = form_notes(*form_);
  writer_ = make_writer_(std::move(head));
}

// Submits all choices; if one is refused, the others are cancelled and the client gets the error.
void AnswerJob::start() {
  make_writer();
  make_inbox();
  reply_->notes().model = model_;
  reply_->notes().tenant = terms_.tenant;
  const Status status = submit_all();
  if (!status.ok()) {
    stream_ = false;  // nothing is sent yet, so the status can still say it
    return fail_all(api_error(status));
  }
  is_submitted_ = true;
  if (stream_) reply_->begin_stream(writer_->stream_type());
  reply_->on_disconnect([self = shared_from_this()] {
    if (self->over_) return;  // all has been generated and waits to be kept
    self->over_ = true;
    self->turn_.reset();
    self->note_part();
    self->cancel_all();
    self->writer_->give_up();
  });
  if (!stream_ || over_) return;
  for (size_t i = 0; i < works_.size(); ++i) {
    // A prompt with log-probabilities waits for them.
    if (!write(writer_->begin(i, scores_echo_ ? std::string() : prompt_of(i).echo))) return;
  }
}

// One engine request per choice; all share the parameters except the seed.
Status AnswerJob::submit_all() {
  const size_t n_choices = prompts_.size() * static_cast<size_t>(n_);
  works_.resize(n_choices);
  if (service_.notes_contents)
    contents_ = RequestContents{.answers = std::vector<std::string>(n_choices)};
  for (size_t i = 0; i < n_choices; ++i) {
    const ReadyPrompt& prompt = prompt_of(i);
    works_[i].logprobs.text_offset = n_characters(prompt.echo);
    if (!stream_) {
      if (!make_room(prompt.echo.size())) {
        return Status(Code::out_of_memory, answers_overloaded().message);
      }
      works_[i].text = prompt.echo;
    }
    if (prompt.reading != nullptr) {
      works_[i].reader = std::make_unique<AnswerReader>(
          *prompt.reading, fmt::format("{}/{}", name_, i), keeps_text());
    }
    Request request;
    request.prompt = prompt.ids;
    request.params = params_;
    request.terms = terms_;
    request.adapters = adapters_;
    request.form = form_;
    request.reasoning = prompt.reasoning;
    request.n_fixed_tokens = prompt.n_fixed;
    if (has_best()) request.params.n_logprobs = std::max(params_.n_logprobs, 0);
    if (params_.seed) request.params.seed = *params_.seed + i % static_cast<size_t>(n_);
    request.on_event = on_event_of(i);
    works_[i].id = TRY(service_.engine->submit(std::move(request)));
  }
  return {};
}

// What the engine's thread does with events of a choice.
std::function<void(const Event&)> AnswerJob::on_event_of(size_t index) {
  if (inbox_ == nullptr) {
    return [self = shared_from_this(), index](const Event& event) {
      self->reply_->post([self, index, event] { self->receive(index, event); });
    };
  }
  return [self = shared_from_this(), index](const Event& event) {
    const EventInbox::Call call = self->inbox_->put(index, event);
    if (call == EventInbox::Call::not_yet) return;
    auto take = [self] { self->take_events(); };
    if (call == EventInbox::Call::now) return self->reply_->post(std::move(take));
    self->reply_->post_soon(std::move(take));
  };
}

void AnswerJob::take_events() {
  for (const EventInbox::Entry& entry : inbox_->take()) receive(entry.choice, entry.event);
}

// Readers that wait for an answer's end, or do not mind a moment, need not be woken for each token.
// Where answers are taken apart, what is counted depends on the single events, and calls may end
// the answer early.
void AnswerJob::make_inbox() {
  if (!reply_->is_patient()) return;
  bool has_reader = false, may_end_early = false;
  for (const ReadyPrompt& prompt : prompts_) {
    has_reader |= prompt.reading != nullptr;
    may_end_early |= prompt.reading != nullptr && prompt.reading->options.calls;
  }
  inbox_ = std::make_unique<EventInbox>(!has_reader, !stream_ && !may_end_early);
}

// An event of one choice, on the network thread.
void AnswerJob::receive(size_t index, const Event& event) {
  if (over_) return;
  Work& work = works_[index];
  work.n_received += std::ssize(event.ids);
  count_tokens(work, event);
  if (contents_) note_answer(index, event.text, *contents_);
  if (event.n_healed_bytes > 0) note_healed(work, event);
  work.n_repair_bytes = event.n_repair_bytes;
  work.n_text_bytes += std::ssize(event.text) - std::max<int64_t>(event.n_repair_bytes, 0);
  if (event.finish == FinishReason::error) return fail_all(api_error(event.status));
  if (event.finish == FinishReason::cancelled && !work.ending) {
    return fail_all(api_error(Status(Code::cancelled, "the answer was cancelled by the server")));
  }
  if (params_.n_prompt_logprobs >= 0 && !std::exchange(work.is_scored, true)) {
    read_scores(index, event);
    if (over_) return;
  }
  if (work.reader != nullptr) {
    read_parts(index, event);
  } else if (stream_) {
    send_piece(index, event);
  } else {
    keep_piece(work, event);
  }
  if (event.finish != FinishReason::none && !over_) finish_choice(index, event);
}

// What the first event says of the prompt.
void AnswerJob::read_scores(size_t index, const Event& event) {
  Work& work = works_[index];
  if (n_prompt_top_ >= 0) {
    work.logprobs.prompt = prompt_logprobs_list(*service_.text, event.prompt_logprobs,
                                                static_cast<size_t>(n_prompt_top_));
  }
  if (scores_echo_) {
    const ReadyPrompt& prompt = prompt_of(index);
    LogprobsText lists = echo_logprobs(prompt, event);
    if (stream_) {
      work.logprobs.text_offset = lists.text_offset;
      write(writer_->piece({.choice = index, .text = prompt.echo, .logprobs = &lists}));
      return;
    }
    lists.prompt.swap(work.logprobs.prompt);
    work.logprobs = std::move(lists);
  }
  if (!make_room(work.logprobs.n_bytes())) fail_all(answers_overloaded());
}

// The tokens of a prompt that is part of the text. Those that the text does not show come before
// it, so that offsets are counted back from its end.
LogprobsText AnswerJob::echo_logprobs(const ReadyPrompt& prompt, const Event& event) const {
  LogprobsText lists{.text_offset = n_characters(prompt.echo)};
  for (const Token id : prompt.ids) {
    lists.text_offset -= n_characters(to_valid_utf8(token_bytes(*service_.text, id)));
  }
  writer_->add_unscored(*service_.text, prompt.ids.front(), lists);
  for (Event::Logprobs token : event.prompt_logprobs) {
    token.top.resize(std::min(token.top.size(), static_cast<size_t>(params_.n_logprobs)));
    writer_->add_logprobs(*service_.text, token, lists);
  }
  return lists;
}

// The time since the tokens before.
void AnswerJob::count_tokens(Work& work, const Event& event) const {
  if (event.ids.empty() || service_.metrics == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (work.at) {
    service_.metrics->count_tokens(std::chrono::duration<double>(now - *work.at).count(),
                                   event.ids.size());
  }
  work.at = now;
}

// The first token begins in the prompt.
void AnswerJob::note_healed(Work& work, const Event& event) const {
  const auto bytes = service_.text->text_of(std::span(event.ids).first(1), true);
  if (!bytes) return;
  work.logprobs.text_offset -=
      n_characters(std::string_view(*bytes).substr(0, static_cast<size_t>(event.n_healed_bytes)));
}

// Takes the text of an event apart. An answer that has all calls that were wanted is ended.
void AnswerJob::read_parts(size_t index, const Event& event) {
  Work& work = works_[index];
  const bool last = event.finish != FinishReason::none;
  const uint64_t before = work.reader->message().n_bytes();
  const std::vector<ToolDelta> deltas = work.reader->read(event.text, last);
  work.n_undecided_tokens += std::ssize(event.ids);
  if (!deltas.empty()) {
    const bool reasons = deltas.front().kind == ToolDelta::Kind::reasoning;
    work.n_reasoning_tokens += reasons ? work.n_undecided_tokens : 0;
    work.n_undecided_tokens = 0;
  }
  if (stream_) {
    send_parts(index, event, deltas);
  } else {
    // The text is kept by the reader, the log-probabilities as those of any answer.
    Event rest = event;
    rest.text.clear();
    keep_piece(work, rest);
  }
  if (!over_ && !make_room(work.reader->message().n_bytes() - before)) {
    return fail_all(answers_overloaded());
  }
  if (work.ending) return;
  work.n_tokens += static_cast<int64_t>(event.ids.size());
  if (over_ || last || !work.reader->done()) return;
  work.ending = true;
  service_.engine->cancel(*work.id);
}

LogprobsText AnswerJob::piece_logprobs(Work& work, const Event& event) const {
  LogprobsText piece{.text_offset = work.logprobs.text_offset};
  for (const Event::Logprobs& token : event.logprobs) {
    writer_->add_logprobs(*service_.text, token, piece);
  }
  work.logprobs.text_offset = piece.text_offset;
  return piece;
}

// One chunk for each delta; the event's log-probabilities are in the first.
void AnswerJob::send_parts(size_t index, const Event& event, const std::vector<ToolDelta>& deltas) {
  std::optional<LogprobsText> logprobs;
  if (!event.logprobs.empty()) logprobs = piece_logprobs(works_[index], event);
  for (const ToolDelta& delta : deltas) {
    using Kind = ToolDelta::Kind;
    if (delta.kind == Kind::call_end) continue;
    if (delta.kind == Kind::call_broken) {
      if (!write(writer_->take_back_call())) return;
      continue;
    }
    AnswerPiece piece{
        .choice = index, .text = delta.text, .logprobs = logprobs ? &*logprobs : nullptr};
    std::string id;
    if (delta.kind != Kind::content) piece.delta = &delta;
    if (delta.kind == Kind::call_begin) {
      id = works_[index].reader->id_of(delta.call);
      piece.call_id = id;
    }
    if (!write(writer_->piece(piece))) return;
    logprobs.reset();
  }
  if (logprobs) write(writer_->piece({.choice = index, .logprobs = &*logprobs}));
}

// One chunk of a stream.
void AnswerJob::send_piece(size_t index, const Event& event) {
  Work& work = works_[index];
  if (keeps_text()) {
    work.text += event.text;
    if (!make_room(event.text.size())) return fail_all(answers_overloaded());
  }
  AnswerPiece piece{.choice = index, .text = event.text};
  LogprobsText logprobs;
  if (!event.logprobs.empty()) {
    logprobs = piece_logprobs(work, event);
    piece.logprobs = &logprobs;
  }
  write(writer_->piece(piece));
}

// Appends to the text of an answer that is not streamed.
void AnswerJob::keep_piece(Work& work, const Event& event) {
  const uint64_t before = work.text.size() + work.logprobs.n_bytes();
  work.text += event.text;
  for (const Event::Logprobs& token : event.logprobs) {
    work.logprob_sum += token.chosen.logprob;
    ++work.n_scored;
    if (params_.n_logprobs >= 0) writer_->add_logprobs(*service_.text, token, work.logprobs);
  }
  if (!make_room(work.text.size() + work.logprobs.n_bytes() - before)) {
    fail_all(answers_overloaded());
  }
}

// Reports kept bytes to the reply in steps, not token by token. False: there is no room.
bool AnswerJob::make_room(uint64_t n_bytes) {
  n_kept_bytes_ += n_bytes;
  if (n_kept_bytes_ < n_held_bytes_ + kHoldStepBytes) return true;
  n_held_bytes_ = n_kept_bytes_;
  return reply_->hold(n_held_bytes_);
}

// The last event of a choice: its reason, or an error that ends the whole answer.
void AnswerJob::finish_choice(size_t index, const Event& event) {
  works_[index].finish = event.finish;
  works_[index].stop_text = event.stop_text;
  works_[index].stop_token = event.stop_token;
  works_[index].timings = event.timings;
  // Tokens that came before the engine stopped are not part of the answer, and their number would
  // depend on the moment.
  if (works_[index].ending) works_[index].timings.n_generated_tokens = works_[index].n_tokens;
  if (turn_) return keep_turn();
  close_choice(index);
}

// The end is sent to the client only after the answer has been stored.
void AnswerJob::keep_turn() {
  const Work& work = works_.front();
  const Timings& t = work.timings;
  turn_->keep(message_of(work), t.n_prompt_tokens + t.n_generated_tokens,
              [self = shared_from_this()](const Status& status) {
                self->reply_->post([self, status] {
                  if (self->over_) return;
                  self->turn_.reset();
                  if (!status.ok()) return self->fail_all(api_error(status, "session"));
                  self->close_choice(0);
                });
              });
}

// The answer as a message of a conversation.
Message AnswerJob::message_of(const Work& work) const {
  if (work.reader == nullptr) return text_message("assistant", work.text);
  const ToolMessage& parts = work.reader->message();
  Message message = text_message("assistant", parts.content());
  Json members = Json::object();
  if (!parts.reasoning().empty()) members["reasoning_content"] = parts.reasoning();
  for (const ToolCall& call : work.reader->calls()) {
    members["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  if (!members.empty()) message.members = TemplateValue(std::move(members));
  return message;
}

// An answer that was ended after its calls, or that ended itself after them, ends for them.
std::string_view AnswerJob::finish_name(const Work& work) const {
  const bool has_calls = work.reader != nullptr && work.reader->has_calls();
  if (has_calls && (work.ending || work.finish == FinishReason::stop)) return "tool_calls";
  return finish_reason_name(work.finish);
}

// What was not as the model's format of calls says, and what the model did not write.
std::vector<AnswerWarning> AnswerJob::warnings_of(const Work& work) {
  std::vector<AnswerWarning> made;
  if (work.reader != nullptr) {
    for (const ToolWarning& warning : work.reader->warnings())
      made.push_back({warning_name(warning.kind), static_cast<int64_t>(warning.offset)});
  }
  if (work.n_repair_bytes != 0)
    made.push_back({work.n_repair_bytes > 0 ? "repaired" : "not_repaired", work.n_text_bytes});
  return made;
}

// What the writer learns of a choice at its end.
FinishedChoice AnswerJob::finished(size_t index) const {
  const Work& work = works_[index];
  FinishedChoice choice{.choice = index,
                        .finish = finish_name(work),
                        .stop_text = work.stop_text,
                        .stop_token = work.stop_token,
                        .warnings = warnings_of(work)};
  if (stream_ && !writer_->keeps_text()) return choice;
  if (params_.n_logprobs >= 0) choice.logprobs = &work.logprobs;
  choice.prompt_logprobs = work.logprobs.prompt;
  choice.text = work.text;
  if (work.reader == nullptr) return choice;
  const ToolMessage& message = work.reader->message();
  choice.text = message.content();
  choice.reasoning = message.reasoning();
  choice.calls = work.reader->calls();
  return choice;
}

// The choice is complete; the last one ends the answer.
void AnswerJob::close_choice(size_t index) {
  ++n_finished_;
  if (stream_ && !write(writer_->close(finished(index)))) return;
  if (n_finished_ == works_.size()) finish_all();
}

// Sends the whole answer, or the end of the stream.
void AnswerJob::finish_all() {
  over_ = true;
  const AnswerUsage sum = usage();
  note_usage(sum);
  std::string bytes = stream_ ? writer_->end(sum) : whole_answer(sum);
  writer_->when_kept([self = shared_from_this(), bytes = std::move(bytes)]() mutable {
    self->reply_->post(
        [self, bytes = std::move(bytes)]() mutable { self->send_end(std::move(bytes)); });
  });
}

void AnswerJob::send_end(std::string bytes) {
  if (!stream_) return reply_->send({.body = std::move(bytes)});
  reply_->write_last(std::move(bytes));
}

// For the log and the limits.
void AnswerJob::note_usage(const AnswerUsage& sum) {
  note_contents();
  RequestNotes& notes = reply_->notes();
  notes.finish = finish_name(works_[returned_choices().front()]);
  notes.n_prompt_tokens = sum.n_prompt_tokens;
  notes.n_cached_tokens = sum.n_cached_tokens;
  notes.n_generated_tokens = sum.n_generated_tokens;
  notes.queue_ms = sum.queue_ms;
  notes.prefill_ms = sum.prefill_ms;
  notes.decode_ms = sum.decode_ms;
}

// What an answer that does not end has used so far, as its client's limits count it.
void AnswerJob::note_part() {
  note_contents();
  if (!is_submitted_) return;
  RequestNotes& notes = reply_->notes();
  for (const ReadyPrompt& prompt : prompts_) notes.n_prompt_tokens += std::ssize(prompt.ids);
  for (const Work& work : works_) notes.n_generated_tokens += work.n_received;
}

// Once, at the end. Prompts are turned into text only now, so that they take no memory before.
void AnswerJob::note_contents() {
  if (!contents_) return;
  for (const ReadyPrompt& prompt : prompts_) note_prompt(*service_.text, prompt.ids, *contents_);
  reply_->notes().contents = std::move(contents_);
  contents_.reset();
}

void AnswerJob::fail_all(const ApiError& error) {
  over_ = true;
  note_part();
  reply_->notes().finish = error.code;
  turn_.reset();  // the session is free before the client knows
  cancel_all();
  if (stream_) {
    reply_->write_last(writer_->failure(error));
  } else {
    reply_->send(writer_->refusal(error));
  }
}

// Cancels the choices that have not finished.
void AnswerJob::cancel_all() {
  for (const Work& work : works_) {
    if (work.id && work.finish == FinishReason::none) service_.engine->cancel(*work.id);
  }
}

// False when the client reads too slowly: the answer is then over.
bool AnswerJob::write(std::string bytes) {
  if (bytes.empty() || reply_->write(std::move(bytes))) return true;
  if (!over_) {
    fail_all({503, "server_error", "the client reads more slowly than the answer is generated", "",
              "client_too_slow"});
  }
  return false;
}

// Token counts of all choices, and the times of the slowest.
AnswerUsage AnswerJob::usage() const {
  AnswerUsage sum;
  for (const ReadyPrompt& prompt : prompts_) sum.n_cut_tokens += prompt.n_cut;
  for (size_t i = 0; i < works_.size(); ++i) {
    const Timings& t = works_[i].timings;
    sum.n_generated_tokens += t.n_generated_tokens;
    sum.n_reasoning_tokens += works_[i].n_reasoning_tokens;
    sum.n_drafted_tokens += t.n_drafted_tokens;
    sum.n_accepted_tokens += t.n_accepted_tokens;
    sum.n_dropped_tokens += t.n_dropped_tokens;
    sum.queue_ms = std::max(sum.queue_ms, t.queue_ms);
    sum.prefill_ms = std::max(sum.prefill_ms, t.prefill_ms);
    sum.decode_ms = std::max(sum.decode_ms, t.decode_ms);
    // A prompt with several answers counts once, as its first answer found it.
    if (i % static_cast<size_t>(n_) != 0) continue;
    sum.n_prompt_tokens += t.n_prompt_tokens;
    sum.n_cached_tokens += t.n_cached_tokens;
    if (sum.cache_miss == CacheMiss::none) sum.cache_miss = t.cache_miss;
  }
  return sum;
}

// The body of an answer that is not streamed.
std::string AnswerJob::whole_answer(const AnswerUsage& sum) const {
  std::vector<FinishedChoice> choices;
  for (const size_t i : returned_choices()) {
    choices.push_back(finished(i));
    choices.back().choice = choices.size() - 1;
  }
  return writer_->whole(choices, sum);
}

// All of them, or of each prompt's answers those whose tokens are the likeliest on average, the
// best first. An answer without tokens comes last.
std::vector<size_t> AnswerJob::returned_choices() const {
  std::vector<size_t> order(works_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!has_best()) return order;
  const auto mean = [this](size_t i) {
    const auto n_tokens = static_cast<double>(works_[i].n_scored);
    return n_tokens > 0 ? works_[i].logprob_sum / n_tokens : -HUGE_VAL;
  };
  std::vector<size_t> returned;
  for (auto first = order.begin(); first != order.end(); first += n_) {
    std::ranges::stable_sort(first, first + n_, std::ranges::greater(), mean);
    returned.insert(returned.end(), first, first + n_returned_);
  }
  return returned;
}

ApiResult<void> check_known(std::span<const Token> ids, int64_t n_vocab, const std::string& field) {
  const std::optional<Token> unknown = unknown_token(ids, n_vocab);
  if (!unknown) return {};
  return tl::unexpected(bad_request(
      field,
      fmt::format("'{}': token {} is outside the vocabulary of {}", field, *unknown, n_vocab)));
}

}  // namespace

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
                        : ", the model's maximum; shorten the prompt"),
        "context_length_exceeded"));
  }
  const int64_t n_vocab = service.text->info().n_vocab;
  return check_known(ids, n_vocab, field);
}

void cut_prompt(const OpenAiService& service, const GenerateRequest& request, ReadyPrompt& prompt) {
  if (request.max_prompt_tokens == 0) return;
  const int64_t room = service.engine->n_ctx() - 1;
  const int64_t most =
      request.max_prompt_tokens < 0 ? room : std::min(room, request.max_prompt_tokens);
  prompt.n_cut = std::max<int64_t>(0, std::ssize(prompt.ids) - most);
  prompt.ids.erase(prompt.ids.begin(), prompt.ids.begin() + prompt.n_cut);
}

ApiResult<void> load_named(const OpenAiService& service, GenerateRequest& request) {
  request.adapters = TRY(find_adapters(service, request.lora, request.model));
  if (!request.form && request.params.repair) {
    return tl::unexpected(
        bad_request("repair", "'repair': the request asks for no form that could be completed"));
  }
  if (!request.form) return {};
  auto loaded = service.engine->load_form(request.form->form);
  if (!loaded) {
    return tl::unexpected(bad_request(
        request.form->field, fmt::format("'{}': {}", request.form->field, loaded.error().message()),
        loaded.error().code() == Code::unsupported ? "unsupported_form" : "invalid_form"));
  }
  request.loaded = std::move(*loaded);
  return {};
}

ApiResult<void> check_token_params(const OpenAiService& service, const GenerateParams& params) {
  const int64_t n_vocab = service.text->info().n_vocab;
  TRY(check_known(params.stop_tokens, n_vocab, "stop_token_ids"));
  TRY(check_known(params.allowed_token_ids, n_vocab, "allowed_token_ids"));
  for (const auto& [id, bias] : params.logit_bias) {
    TRY(check_known({&id, 1}, n_vocab, "logit_bias"));
  }
  if (params.max_tokens < 0 || params.min_tokens <= params.max_tokens) return {};
  return tl::unexpected(
      bad_request("min_tokens", fmt::format("'min_tokens' is {}, more than the {} of 'max_tokens'",
                                            params.min_tokens, params.max_tokens)));
}

void answer_request(const OpenAiService& service, MakeWriter make_writer,
                    const GenerateRequest& request, std::vector<ReadyPrompt> prompts,
                    const std::shared_ptr<Reply>& reply, std::shared_ptr<SessionTurn> turn) {
  auto job = std::make_shared<AnswerJob>(service, std::move(make_writer), request,
                                         std::move(prompts), reply, std::move(turn));
  reply->post([job] { job->start(); });
}

}  // namespace ruv
