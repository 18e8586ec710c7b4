#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "eval/run_calls.h"
#include "eval/sample.h"

namespace ruv {
namespace {

// The tokens to score of a sample; none for an answer.
Status add_pairs(const PairEncoder& encoder, const EvalSample& sample, SampleKind kind,
                 int64_t max_tokens, std::vector<TokenPair>& pairs) {
  switch (kind) {
    case SampleKind::choices:
      for (const std::string& choice : sample.choices) {
        pairs.push_back(TRY(encoder.encode_pair(sample.context, sample.delimiter + choice)));
      }
      break;
    case SampleKind::continuation:
      pairs.push_back(TRY(encoder.encode_pair(sample.context, sample.continuation)));
      break;
    case SampleKind::text:
      for (TokenPair& window : encoder.windows(sample.text, max_tokens)) {
        pairs.push_back(std::move(window));
      }
      break;
    case SampleKind::answer:
    case SampleKind::calls:
      break;
  }
  return {};
}

// Finds which choice wins, and whether the sample counts as right. Ties go to the first choice.
void judge(const EvalSample& sample, SampleKind kind, SampleScore& score) {
  const auto by_length = [&](size_t i) {
    return score.likelihoods[i].log_likelihood /
           static_cast<double>(count_characters(sample.choices[i]));
  };
  for (const Likelihood& one : score.likelihoods) score.log_likelihood += one.log_likelihood;
  if (kind == SampleKind::continuation) score.is_right = score.likelihoods.front().is_greedy;
  if (kind != SampleKind::choices) return;
  for (size_t i = 1; i < sample.choices.size(); ++i) {
    const double best = score.likelihoods[score.chosen].log_likelihood;
    if (score.likelihoods[i].log_likelihood > best) score.chosen = i;
    if (by_length(i) > by_length(score.chosen_by_length)) score.chosen_by_length = i;
  }
  score.is_right = score.chosen == sample.gold;
  score.is_right_by_length = score.chosen_by_length == sample.gold;
}

// Whether an answer is right under each rule of the task.
Result<std::vector<bool>> judged_answer(const EvalTask& task, const EvalSample& sample,
                                        const std::string& answer, const EvalLimits& limits) {
  std::vector<bool> right;
  for (const AnswerRule rule : task.rules) {
    if (rule != AnswerRule::passes) {
      right.push_back(is_expected(rule, answer, sample.expected));
      continue;
    }
    const std::string program = sample.context + answer + "\n" + sample.expected;
    right.push_back(TRY(limits.programs->passes(program)));
    if (limits.go_on && !limits.go_on(1)) return fail(Code::cancelled, "the work was stopped");
  }
  return right;
}

// Answers are generated greedily and compared with what is expected.
Result<std::vector<SampleScore>> run_answers(Engine& engine, const PairEncoder& encoder,
                                             const EvalTask& task, const EvalLimits& limits) {
  if (task.rules.front() == AnswerRule::passes && limits.programs == nullptr) {
    return fail(Code::invalid, "this task runs programs that the model writes, which is not on");
  }
  std::vector<GenerateTask> asked;
  for (const EvalSample& sample : task.samples) {
    asked.push_back({sample.context, sample.until, sample.max_new_tokens});
  }
  std::vector<std::string> answers = TRY(generate_all(engine, encoder, asked, limits));
  std::vector<SampleScore> scores(answers.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i].answer = std::move(answers[i]);
    scores[i].is_expected = TRY(judged_answer(task, task.samples[i], scores[i].answer, limits));
    scores[i].is_right = scores[i].is_expected.front();
  }
  return scores;
}

// The error is the deviation of a sample over the root of its size; one value has none.
EvalMetric mean_of(std::string_view name, const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return {name, mean};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {name, mean, std::sqrt(squares / (n - 1)) / std::sqrt(n)};
}

// The sums over all texts are divided, not the perplexities of single texts averaged.
std::vector<EvalMetric> text_metrics(const EvalTask& task, const std::vector<SampleScore>& scores) {
  double sum = 0, n_words = 0, n_bytes = 0, n_tokens = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    sum += scores[i].log_likelihood;
    n_words += static_cast<double>(count_words(task.samples[i].text));
    n_bytes += static_cast<double>(task.samples[i].text.size());
    for (const Likelihood& window : scores[i].likelihoods) {
      n_tokens += static_cast<double>(window.token_logprobs.size());
    }
  }
  return {{"word_perplexity", std::exp(-sum / n_words)},
          {"byte_perplexity", std::exp(-sum / n_bytes)},
          {"bits_per_byte", -sum / n_bytes / std::numbers::ln2},
          {"token_perplexity", std::exp(-sum / n_tokens)}};
}

// Names are those of the harness's filters.
std::string_view metric_name(AnswerRule rule) {
  switch (rule) {
    case AnswerRule::whole:
      return "exact_match";
    case AnswerRule::after_hashes:
      return "exact_match,strict-match";
    case AnswerRule::last_number:
      return "exact_match,flexible-extract";
    case AnswerRule::passes:
      return "pass@1";
  }
  return "";
}

std::vector<EvalMetric> answer_metrics(const EvalTask& task,
                                       const std::vector<SampleScore>& scores) {
  std::vector<EvalMetric> metrics;
  for (size_t rule = 0; rule < task.rules.size(); ++rule) {
    std::vector<double> right;
    for (const SampleScore& score : scores) right.push_back(score.is_expected[rule] ? 1 : 0);
    metrics.push_back(mean_of(metric_name(task.rules[rule]), right));
  }
  return metrics;
}

}  // namespace

Result<std::vector<SampleScore>> run_task(Engine& engine, const EvalTask& task,
                                          const EvalLimits& limits) {
  if (task.kind == SampleKind::calls) return run_calls(engine, task, limits);
  const PairEncoder encoder = TRY(PairEncoder::create(engine.model()));
  if (task.kind == SampleKind::answer) return run_answers(engine, encoder, task, limits);
  std::vector<TokenPair> pairs;
  // Where the pairs of each sample end.
  std::vector<size_t> ends;
  for (const EvalSample& sample : task.samples) {
    const Status added = add_pairs(encoder, sample, task.kind, limits.max_tokens, pairs);
    if (!added.ok()) {
      return failure(with_context(fmt::format("sample {}", ends.size() + 1), added));
    }
    ends.push_back(pairs.size());
  }
  std::vector<Likelihood> all = TRY(log_likelihoods(engine, pairs, limits));
  std::vector<SampleScore> scores(task.samples.size());
  size_t at = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (; at < ends[i]; ++at) scores[i].likelihoods.push_back(std::move(all[at]));
    judge(task.samples[i], task.kind, scores[i]);
  }
  return scores;
}

std::vector<EvalMetric> metrics_of(const EvalTask& task, const std::vector<SampleScore>& scores) {
  if (task.kind == SampleKind::text) return text_metrics(task, scores);
  std::vector<double> right, right_by_length, sums;
  for (const SampleScore& score : scores) {
    right.push_back(score.is_right ? 1 : 0);
    right_by_length.push_back(score.is_right_by_length ? 1 : 0);
    sums.push_back(score.log_likelihood);
  }
  if (task.kind == SampleKind::answer) return answer_metrics(task, scores);
  if (task.kind == SampleKind::choices) {
    return {mean_of("acc", right), mean_of("acc_norm", right_by_length)};
  }
  if (task.kind == SampleKind::calls) return {mean_of("acc", right)};
  EvalMetric perplexity = mean_of("perplexity", sums);
  perplexity.value = std::exp(-perplexity.value);
  if (perplexity.error >= 0) perplexity.error *= perplexity.value;
  return {perplexity, mean_of("acc", right)};
}

}  // namespace ruv
