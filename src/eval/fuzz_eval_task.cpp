// Any bytes as a file of a task, in each of its forms: it is refused with the file's name, or its
// samples are whole. What of an answer counts is found in any text.
#include <cstdlib>

#include "eval/published_task.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void check(const ruv::Result<ruv::EvalTask>& read) {
  if (!read) {
    expect(read.error().message().find("f") != std::string::npos);
    return;
  }
  expect(!read->samples.empty() && !read->rules.empty());
  for (const ruv::EvalSample& sample : read->samples) {
    if (read->kind == ruv::SampleKind::choices) expect(sample.gold < sample.choices.size());
    if (read->kind == ruv::SampleKind::answer) expect(sample.max_new_tokens > 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(ruv::read_task_lines(bytes, "f", 0));
  for (const char* const name : {"lambada", "mmlu", "gsm8k", "humaneval"}) {
    const ruv::PublishedForm form = *ruv::find_published_form(name);
    check(ruv::read_published(form, {bytes, "f"}, {}));
    if (form == ruv::PublishedForm::lambada || form == ruv::PublishedForm::humaneval) continue;
    check(
        ruv::read_published(form, {bytes, "f"}, {.limit = 2, .n_shots = 1, .shots = {bytes, "f"}}));
  }
  for (const std::string_view answers : {bytes, std::string_view()}) {
    check(ruv::read_published(ruv::PublishedForm::bfcl, {bytes, "f"},
                              {.answers = {answers, answers.empty() ? "" : "f"}}));
  }
  const std::string_view answer = bytes.substr(0, size / 2);
  for (const auto rule :
       {ruv::AnswerRule::whole, ruv::AnswerRule::after_hashes, ruv::AnswerRule::last_number}) {
    ruv::is_expected(rule, answer, bytes.substr(size / 2));
  }
  return 0;
}
