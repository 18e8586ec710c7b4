#include "eval/published_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/call_task.h"
#include "eval/csv.h"
#include "eval/line_objects.h"

namespace ruv {
namespace {

constexpr size_t kMostShown = size_t{1} << 20;  // longer than contexts are; each sample has a copy
constexpr std::string_view kLetters = "ABCD";
constexpr std::pair<std::string_view, PublishedForm> kForms[] = {
    {"lambada", PublishedForm::lambada},
    {"mmlu", PublishedForm::mmlu},
    {"gsm8k", PublishedForm::gsm8k},
    {"humaneval", PublishedForm::humaneval},
    {"bfcl", PublishedForm::bfcl}};
constexpr int64_t kMostProgramTokens = 1024;

// A question with its answer, as it is shown and as it is asked.
struct Question {
  std::string text;    // to where the answer begins
  std::string answer;  // as shown after a space
  size_t gold = 0;     // the right choice
};
using Questions = std::vector<Question>;

Result<std::string> member_text(const Json& line, const char* name) {
  const Json* const found = line.find(name);
  if (found != nullptr && found->is_string()) return found->get<std::string>();
  return fail(Code::corrupt, "\"{}\" must be a text", name);
}

Result<Questions> read_gsm8k(const PublishedFile& file, int64_t limit) {
  Questions questions;
  TRY(each_line_object(file.content, file.source, limit, [&](const Json& line) -> Status {
    const std::string question = TRY(member_text(line, "question"));
    Question& added = questions.emplace_back();
    added.text = fmt::format("Question: {}\nAnswer:", question);
    added.answer = TRY(member_text(line, "answer"));
    return {};
  }));
  return questions;
}

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t last = text.find_last_not_of(kSpace);
  return last == text.npos ? std::string_view() : text.substr(first, last + 1 - first);
}

// The place of the right choice: a letter, or a digit in files with a header.
std::optional<size_t> place_of(std::string_view answer) {
  if (answer.size() != 1) return std::nullopt;
  const size_t letter = kLetters.find(answer[0]);
  if (letter != kLetters.npos) return letter;
  const auto digit = static_cast<size_t>(answer[0] - '0');
  return digit < kLetters.size() ? std::optional(digit) : std::nullopt;
}

// A header is the row that has no answer.
Result<Questions> read_mmlu(const PublishedFile& file, int64_t limit) {
  Questions questions;
  const std::vector<CsvRow> rows =
      TRY(read_csv(file.content, file.source, limit == 0 ? 0 : limit + 1));
  for (const CsvRow& row : rows) {
    if (limit > 0 && std::ssize(questions) == limit) break;
    if (row.fields.size() != 6) {
      return fail(Code::corrupt, "{}: line {}: {} fields, not question, four choices and answer",
                  file.source, row.line, row.fields.size());
    }
    const std::optional<size_t> gold = place_of(row.fields[5]);
    if (!gold && &row == rows.data()) continue;
    if (!gold) {
      return fail(Code::corrupt, "{}: line {}: the answer is not a letter from A to D", file.source,
                  row.line);
    }
    std::string text(without_space(row.fields[0]));
    for (size_t i = 0; i < kLetters.size(); ++i) {
      text += fmt::format("\n{}. {}", kLetters[i], row.fields[i + 1]);
    }
    questions.push_back({text + "\nAnswer:", std::string(1, kLetters[*gold]), *gold});
  }
  return questions;
}

Result<EvalTask> read_lambada(const PublishedFile& file, int64_t limit) {
  EvalTask task{.kind = SampleKind::continuation, .samples = {}};
  TRY(each_line_object(file.content, file.source, limit, [&](const Json& line) -> Status {
    const std::string text = TRY(member_text(line, "text"));
    const size_t space = text.rfind(' ');
    if (space == text.npos) return fail(Code::corrupt, "\"text\" has one word");
    EvalSample& sample = task.samples.emplace_back();
    sample.context = text.substr(0, space);
    sample.continuation = text.substr(space);
    return {};
  }));
  return task;
}

// A program ends where something follows its function.
Result<EvalTask> read_humaneval(const PublishedFile& file, int64_t limit) {
  EvalTask task{.kind = SampleKind::answer, .rules = {AnswerRule::passes}, .samples = {}};
  TRY(each_line_object(file.content, file.source, limit, [&](const Json& line) -> Status {
    const std::string function = TRY(member_text(line, "entry_point"));
    EvalSample& sample = task.samples.emplace_back();
    sample.context = TRY(member_text(line, "prompt"));
    sample.expected = fmt::format("{}\ncheck({})", TRY(member_text(line, "test")), function);
    sample.until = {"\nclass", "\ndef", "\n#", "\nif", "\nprint"};
    sample.max_new_tokens = kMostProgramTokens;
    return {};
  }));
  return task;
}

// What is shown before every question.
std::string shown(const Questions& shots, std::string_view subject) {
  std::string text;
  if (!subject.empty()) {
    text = fmt::format("The following are multiple choice questions (with answers) about {}.\n\n",
                       subject);
  }
  for (const Question& shot : shots) text += shot.text + " " + shot.answer + "\n\n";
  return text;
}

EvalTask task_of(PublishedForm form, Questions questions, const std::string& before) {
  EvalTask task;
  const bool is_mmlu = form == PublishedForm::mmlu;
  task.kind = is_mmlu ? SampleKind::choices : SampleKind::answer;
  if (!is_mmlu) task.rules = {AnswerRule::after_hashes, AnswerRule::last_number};
  for (Question& question : questions) {
    EvalSample& sample = task.samples.emplace_back();
    sample.context = before + question.text;
    if (is_mmlu) {
      for (const char letter : kLetters) sample.choices.emplace_back(1, letter);
      sample.gold = question.gold;
    } else {
      sample.expected = std::move(question.answer);
      sample.until = {"Question:", "</s>", "<|im_end|>"};
    }
  }
  return task;
}

}  // namespace

std::optional<PublishedForm> find_published_form(std::string_view name) {
  for (const auto& [known, form] : kForms) {
    if (name == known) return form;
  }
  return std::nullopt;
}

Result<EvalTask> read_published(PublishedForm form, const PublishedFile& file,
                                const PublishedOptions& options) {
  const bool is_lambada = form == PublishedForm::lambada;
  const bool is_bfcl = form == PublishedForm::bfcl;
  if (!is_bfcl && !options.answers.source.empty()) {
    return fail(Code::invalid, "only questions of BFCL have a file of answers");
  }
  const bool continues = is_lambada || form == PublishedForm::humaneval;
  if ((continues || is_bfcl) && options.n_shots > 0) {
    return fail(Code::invalid, "only questions of MMLU and GSM8K have others shown before them");
  }
  if (form != PublishedForm::mmlu && !options.subject.empty()) {
    return fail(Code::invalid, "a subject is said of questions of MMLU alone");
  }
  if (is_bfcl) return read_call_questions(file, options.answers, options.limit);
  EvalTask task;
  if (continues) {
    task = TRY((is_lambada ? read_lambada : read_humaneval)(file, options.limit));
  } else {
    const auto read = form == PublishedForm::mmlu ? read_mmlu : read_gsm8k;
    Questions shots;
    if (options.n_shots > 0) shots = TRY(read(options.shots, options.n_shots));
    if (std::ssize(shots) < options.n_shots) {
      return fail(Code::invalid, "{}: {} samples, of which {} are to be shown",
                  options.shots.source, shots.size(), options.n_shots);
    }
    const std::string before = shown(shots, options.subject);
    if (before.size() > kMostShown) {
      return fail(Code::invalid, "{}: what is shown before each question has {} bytes, at most {}",
                  options.shots.source, before.size(), kMostShown);
    }
    task = task_of(form, TRY(read(file, options.limit)), before);
  }
  if (task.samples.empty()) return fail(Code::invalid, "{}: there is no sample", file.source);
  return task;
}

}  // namespace ruv
