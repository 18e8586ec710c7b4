#include "tool_talk.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "answer.h"
#include "base/json.h"
#include "shown_text.h"
#include "terminal.h"
#include "tools/cut_text.h"

namespace ruv {
namespace {

constexpr size_t kShownName = 80;
constexpr size_t kShownArguments = 100;
constexpr size_t kShownResult = 100;

// While it lives, Ctrl-C raises the flag. A signal handler may not take locks, so a thread looks at
// its flag.
class InterruptRelay {
 public:
  explicit InterruptRelay(Cancellation& cancellation)
      : thread_([this, &cancellation] {
          while (!ended_.load()) {
            if (interrupt_seen()) return cancellation.cancel();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        }) {}
  InterruptRelay(const InterruptRelay&) = delete;
  InterruptRelay& operator=(const InterruptRelay&) = delete;
  ~InterruptRelay() {
    ended_ = true;
    thread_.join();
  }

 private:
  InterruptScope scope_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// What a turn shows. Each line about a call is one write, as results come from several threads.
class TurnScreen {
 public:
  TurnScreen(const CommandLine& line, TurnLook look)
      : line_(line), speeds_(look.speeds), answer_(look.form) {}

  void show(const ToolDelta& delta) {
    if (delta.kind == ToolDelta::Kind::content) {
      answer_.add(delta.text);
      std::fflush(stdout);
    } else if (delta.kind == ToolDelta::Kind::reasoning) {
      fmt::print(stderr, "{}{}{}", style_.dim, delta.text, style_.reset);
      inside_reasoning_ = true;
    }
  }
  // Before something that has a line of its own.
  void end_lines() {
    answer_.finish();
    std::fflush(stdout);
    if (inside_reasoning_) fmt::print(stderr, "\n");
    inside_reasoning_ = false;
  }
  void show_call(const ToolRequest& call) {
    end_lines();
    fmt::print(stderr, "{}[tool] {} {}{}\n", style_.dim, shown_text(call.name, kShownName),
               shown_text(call.arguments, kShownArguments), style_.reset);
  }
  void show_result(const ToolResult& result) {
    fmt::print(stderr, "{}[tool] {} {} after {} ms: {}{}\n",
               result.is_error ? style_.red : style_.dim, shown_text(result.name, kShownName),
               result.is_error ? "failed" : "answered", (result.duration_us + 500) / 1000,
               shown_text(result.text, kShownResult), style_.reset);
  }
  // After the answer's last piece: how fast it came, and calls in it that cannot be read.
  void show_end(const ChatAnswer& answer) {
    end_lines();
    if (speeds_)
      fmt::print(stderr, "{}{}{}\n", style_.dim, speed_line(answer.timings), style_.reset);
    for (const ToolWarning& warning : answer.warnings) {
      if (warning.kind == ToolWarning::Kind::unfinished_call) {
        line_.note("the answer was cut off inside a call of a tool; raise --max-tokens");
      } else if (warning.kind == ToolWarning::Kind::malformed_call) {
        line_.note("the answer has a call of a tool that cannot be read, and was not run");
      }
    }
  }

 private:
  const CommandLine& line_;
  bool speeds_;
  TerminalStyle style_ = style_of(stderr);
  AnswerScreen answer_;
  bool inside_reasoning_ = false;
};

// The texts together take about `max_tokens` at most, each its share. What is left out may have
// taken fewer bytes a token than what is left, so a text may be cut again.
void cut_to_tokens(const Model& model, int64_t max_tokens, std::vector<std::string>& texts) {
  constexpr int kMaxCuts = 3;
  const int64_t share = std::max<int64_t>(max_tokens / static_cast<int64_t>(texts.size()), 16);
  for (std::string& text : texts) {
    for (int cut = 0; cut < kMaxCuts; ++cut) {
      const Result<std::vector<Token>> ids = tokenize(model, text, false);
      const auto n = ids ? static_cast<int64_t>(ids->size()) : 0;
      if (n <= share) break;
      const double bytes_per_token = static_cast<double>(text.size()) / static_cast<double>(n);
      text = cut_text(text, static_cast<size_t>(static_cast<double>(share) * bytes_per_token));
    }
  }
}

// One turn's side of the loop: the conversation, and the answers on the screen.
class TurnModel final : public LoopModel {
 public:
  TurnModel(Engine& engine, ChatAsker& asker, Conversation& conversation, const ChatTerms& terms,
            TurnScreen& screen)
      : engine_(engine),
        asker_(asker),
        conversation_(conversation),
        terms_(terms),
        screen_(screen) {}

  Result<std::vector<ToolRequest>> answer(int round, const Cancellation* cancellation) override {
    ChatTerms terms = terms_;
    if (round > 0) {
      terms.must_call = false;
      terms.names.clear();
    }
    last_ =
        TRY(asker_.ask(conversation_, terms,
                       {.on_delta = [this](const ToolDelta& delta) { screen_.show(delta); },
                        .should_stop = [cancellation] { return cancellation->is_cancelled(); }}));
    conversation_.messages.push_back(answer_message(last_));
    screen_.show_end(last_);
    std::vector<ToolRequest> calls;
    for (const ToolCall& call : last_.calls) calls.push_back({call.id, call.name, call.arguments});
    return calls;
  }
  void take_results(const std::vector<ToolResult>& results) override {
    std::vector<std::string> texts;
    for (const ToolResult& result : results) texts.push_back(result.text);
    // Results leave room for others and for the answer.
    cut_to_tokens(engine_.model(), engine_.n_ctx() / 4, texts);
    for (size_t i = 0; i < results.size(); ++i)
      conversation_.messages.push_back(
          result_message(results[i].id, results[i].name, std::move(texts[i])));
  }
  const ChatAnswer& last() const { return last_; }

 private:
  Engine& engine_;
  ChatAsker& asker_;
  Conversation& conversation_;
  const ChatTerms& terms_;
  TurnScreen& screen_;
  ChatAnswer last_;
};

}  // namespace

ToolTalk::ToolTalk(const CommandLine& line, const ToolUse& use, Engine& engine,
                   std::shared_ptr<const Model> model, TurnLook look)
    : line_(line),
      use_(use),
      engine_(engine),
      asker_(engine, std::move(model)),
      consent_(line, use.yes),
      look_(look) {}

Result<std::unique_ptr<ToolTalk>> ToolTalk::open(const CommandLine& line, const ToolUse& use,
                                                 Engine& engine, std::shared_ptr<const Model> model,
                                                 TurnLook look) {
  std::unique_ptr<ToolTalk> talk(new ToolTalk(line, use, engine, std::move(model), look));
  TRY(talk->asker_.can_call());
  talk->box_ = TRY(ToolBox::open(line, use, engine));
  talk->box_->offered();  // what is wrong with them is said before the first turn
  return talk;
}

Result<ChatTerms> ToolTalk::terms_of(const Conversation& conversation,
                                     const GenerateParams& params) {
  ChatTerms terms;
  terms.params = params;
  const TemplateValue& tools = conversation.tools;
  const bool is_new = !seen_tools_ || seen_tools_->json() != tools.json();
  if (is_new) {
    seen_tools_ = tools;
    const Status held = asker_.can_hold(tools);
    held_ = held.ok();
    if (!held_) line_.note("calls are checked only when they are complete: " + held.message());
  }
  terms.held = held_;
  if (use_.choice == "auto") return terms;
  terms.must_call = true;
  if (use_.choice == "required") return terms;
  terms.names = {use_.choice};
  if (tools.json() != nullptr) {
    for (const Json& tool : *tools.json()) {
      if (tool.at("function").at("name") == use_.choice) return terms;
    }
  }
  return fail(Code::invalid, "--tool-choice: there is no tool '{}'", use_.choice);
}

Result<ToolTurn> ToolTalk::take_turn(Conversation& conversation, const GenerateParams& params) {
  conversation.tools = box_->offered();
  const ChatTerms terms = TRY(terms_of(conversation, params));
  const size_t n_before = conversation.messages.size();
  Cancellation cancellation;
  const InterruptRelay relay(cancellation);
  TurnScreen screen(line_, look_);
  TurnModel model(engine_, asker_, conversation, terms, screen);
  const ToolLoop loop(box_->registry(), {.max_rounds = static_cast<int>(use_.max_rounds)});
  const ToolLoopWatch watch{
      .on_call = [&](const ToolRequest& call) { screen.show_call(call); },
      .may_run =
          [&](const ToolRequest& call, const RegisteredTool& tool) {
            const bool allowed = consent_.ask(call, tool);
            if (interrupt_seen()) cancellation.cancel();
            return allowed;
          },
      .on_result = [&](const ToolResult& result) { screen.show_result(result); }};
  const Result<ToolLoopOutcome> outcome = loop.run(model, watch, &cancellation);
  if (!outcome) {
    screen.end_lines();
    if (conversation.messages.size() > n_before)
      line_.note("the turn is forgotten; what its calls did is not undone");
    conversation.messages.resize(n_before);
    return tl::unexpected<Status>(outcome.error());
  }
  if (outcome->end == ToolLoopEnd::rounds)
    line_.note(
        fmt::format("stopped after {} {} of calls without an answer; --max-rounds allows more",
                    outcome->n_rounds, outcome->n_rounds == 1 ? "round" : "rounds"));
  // Templates want an answer before the next question.
  if (conversation.messages.back().role == "tool")
    conversation.messages.push_back(text_message("assistant", ""));
  return ToolTurn{outcome->end, model.last()};
}

}  // namespace ruv
