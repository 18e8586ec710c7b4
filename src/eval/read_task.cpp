#include <fmt/format.h>

#include "eval/line_objects.h"
#include "eval/sample.h"

namespace ruv {
namespace {

// More than any context has.
constexpr int64_t kMaxNewTokens = int64_t{1} << 20;

Result<std::string> text_of(const Json& line, const char* name) {
  const Json* const found = line.find(name);
  if (found == nullptr || !found->is_string()) {
    return fail(Code::invalid, "\"{}\" must be a text", name);
  }
  return found->get<std::string>();
}

Result<std::vector<std::string>> texts_of(const Json& line, const char* name) {
  const Json* const found = line.find(name);
  if (found == nullptr || !found->is_array() || found->empty()) {
    return fail(Code::invalid, "\"{}\" must be a list of texts", name);
  }
  std::vector<std::string> texts;
  for (const Json& text : *found) {
    if (!text.is_string() || text.empty()) {
      return fail(Code::invalid, "\"{}\"[{}] must be a text that is not empty", name, texts.size());
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

// A member that is not read would change what the user meant.
Status check_members(const Json& line, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : line.items()) {
    if (key == "id" || std::ranges::find(known, key) != known.end()) continue;
    return fail(Code::invalid, "\"{}\" is not a member of such a sample", key);
  }
  return {};
}

// The member that only samples of one kind have decides.
Result<SampleKind> kind_of(const Json& line) {
  if (line.contains("choices")) return SampleKind::choices;
  if (line.contains("continuation")) return SampleKind::continuation;
  if (line.contains("text")) return SampleKind::text;
  if (line.contains("answer")) return SampleKind::answer;
  return fail(Code::invalid, "a sample has \"choices\", \"continuation\", \"text\" or \"answer\"");
}

// Members that samples with choices have.
Status read_choices(const Json& line, EvalSample& sample) {
  TRY(check_members(line, {"context", "choices", "answer", "delimiter"}));
  sample.choices = TRY(texts_of(line, "choices"));
  const Json& answer = line["answer"];
  if (!answer.is_number_unsigned() || answer.get<uint64_t>() >= sample.choices.size()) {
    return fail(Code::invalid, "\"answer\" must be the place of a choice, from 0 to {}",
                sample.choices.size() - 1);
  }
  sample.gold = answer.get<uint64_t>();
  if (line.contains("delimiter")) sample.delimiter = TRY(text_of(line, "delimiter"));
  return {};
}

// Members that samples with a greedy answer have.
Status read_answer(const Json& line, EvalSample& sample) {
  TRY(check_members(line, {"context", "answer", "until", "max_tokens"}));
  sample.expected = TRY(text_of(line, "answer"));
  if (line.contains("until")) sample.until = TRY(texts_of(line, "until"));
  if (!line.contains("max_tokens")) return {};
  const Json& most = line["max_tokens"];
  if (!most.is_number_unsigned() || most.get<uint64_t>() < 1 ||
      most.get<uint64_t>() > static_cast<uint64_t>(kMaxNewTokens)) {
    return fail(Code::invalid, "\"max_tokens\" must be a number from 1 to {}", kMaxNewTokens);
  }
  sample.max_new_tokens = most.get<int64_t>();
  return {};
}

Result<EvalSample> sample_of(const Json& line, SampleKind kind) {
  EvalSample sample;
  if (kind != SampleKind::text) sample.context = TRY(text_of(line, "context"));
  switch (kind) {
    case SampleKind::choices:
      TRY(read_choices(line, sample));
      break;
    case SampleKind::continuation:
      TRY(check_members(line, {"context", "continuation"}));
      sample.continuation = TRY(text_of(line, "continuation"));
      break;
    case SampleKind::text:
      TRY(check_members(line, {"text"}));
      sample.text = TRY(text_of(line, "text"));
      break;
    case SampleKind::answer:
      TRY(read_answer(line, sample));
      break;
    case SampleKind::calls:
      return fail(Code::internal, "no line is of this kind");
  }
  return sample;
}

// Adds the sample of a line.
Status add_line(const Json& line, EvalTask& task) {
  const SampleKind kind = TRY(kind_of(line));
  if (!task.samples.empty() && kind != task.kind) {
    return fail(Code::invalid, "the sample is of another kind than those before it");
  }
  task.kind = kind;
  task.samples.push_back(TRY(sample_of(line, kind)));
  return {};
}

}  // namespace

Result<EvalTask> read_task_lines(std::string_view content, std::string_view source, int64_t limit) {
  EvalTask task;
  TRY(each_line_object(content, source, limit,
                       [&task](const Json& line) { return add_line(line, task); }));
  // A file without samples has no score.
  if (task.samples.empty()) return fail(Code::invalid, "{}: there is no sample", source);
  return task;
}

}  // namespace ruv
