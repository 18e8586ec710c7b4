#include "eval/run_calls.h"

#include "base/json.h"
#include "chat/tools/answer_format.h"
#include "chat/tools/tool_parser.h"
#include "eval/call_check.h"
#include "eval/collect_answers.h"
#include "model/model.h"
#include "ruv/prompts.h"

namespace ruv {
namespace {

// A greedy request, cut where the context ends.
Result<Request> call_request(const ChatPrompt& prompt, const EvalSample& sample,
                             const AnswerFormat& format, int64_t n_ctx) {
  const int64_t room = n_ctx - std::ssize(prompt.ids);
  if (room <= 0) {
    return fail(Code::invalid, "the conversation has {} tokens and the context {}",
                prompt.ids.size(), n_ctx);
  }
  Request request;
  request.prompt = prompt.ids;
  request.params.temperature = 0;
  request.params.max_tokens = std::min(sample.max_new_tokens, room);
  request.params.shown_tokens = format.shown;
  return request;
}

// The calls in an answer, and whether they are the expected ones.
SampleScore judged_calls(const EvalSample& sample, const AnswerFormat& format,
                         const std::string& tail, std::string answer) {
  const ToolSchemas tools(*sample.conversation.tools.json());
  const ToolMessage message =
      parse_output(format.dialect, {.tools = tools, .prompt_tail = tail}, answer);
  SampleScore score;
  score.is_right =
      calls_are_expected(message.calls(), *sample.expected_calls.json(), *sample.functions.json());
  score.answer = std::move(answer);
  return score;
}

}  // namespace

// Conversations that do not fit count as wrong in no score: they are refused.
Result<std::vector<SampleScore>> run_calls(Engine& engine, const EvalTask& task,
                                           const EvalLimits& limits) {
  const Model& model = engine.model();
  TRY(can_chat(model));
  const AnswerFormat format = answer_format(*model.chat_template, model.tokenizer.get());
  if (!format.has_calls) {
    return fail(Code::unsupported, "this model's chat template has no calls of tools");
  }
  PromptEncoder encoder(std::shared_ptr<const Model>(std::shared_ptr<const Model>(), &model));
  const int64_t n_ctx = std::min(limits.max_tokens, engine.n_ctx());
  std::vector<std::string> tails;
  const auto request_of = [&](size_t i) -> Result<Request> {
    ChatPrompt prompt = TRY(encoder.encode(task.samples[i].conversation));
    tails.push_back(std::move(prompt.tail));
    return call_request(prompt, task.samples[i], format, n_ctx);
  };
  std::vector<std::string> answers =
      TRY(collect_answers(engine, task.samples.size(), request_of, limits));
  std::vector<SampleScore> scores;
  for (size_t i = 0; i < answers.size(); ++i) {
    scores.push_back(judged_calls(task.samples[i], format, tails[i], std::move(answers[i])));
  }
  return scores;
}

}  // namespace ruv
