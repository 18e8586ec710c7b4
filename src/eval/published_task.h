// Tasks in the files in which they are published, asked as lm-evaluation-harness asks them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "eval/sample.h"

namespace ruv {

enum class PublishedForm : uint8_t {
  lambada,  // lines {"text"}: the last word after all before it
  mmlu,     // rows question, four choices, answer (a letter or the place from 0): the letter
  gsm8k,    // lines {"question", "answer"}: a written solution, whose number counts
  // Lines {"prompt", "entry_point", "test"}: the rest of a program, which must pass the test.
  humaneval,
  bfcl,  // call_task.h
};
// Nothing for an unknown name: "lambada", "mmlu", "gsm8k", "humaneval", "bfcl".
std::optional<PublishedForm> find_published_form(std::string_view name);

// A file that was read whole.
struct PublishedFile {
  std::string_view content;
  std::string source;  // its name, for errors
};

// What is asked of a file beside its form.
struct PublishedOptions {
  int64_t limit = 0;  // samples; 0: all
  // The first `n_shots` samples of this file are shown before each question. More cost more
  // tokens for each sample.
  int64_t n_shots = 0;
  PublishedFile shots = {};
  // The expected calls of bfcl; without a name none is expected.
  PublishedFile answers = {};
  // What MMLU's questions are said to be about; empty: nothing is said.
  std::string subject = {};
};

// Fails: invalid (no samples, fewer than n_shots of them or of more than 1 MiB, options of another
// form) or corrupt, with the file's name and the line.
Result<EvalTask> read_published(PublishedForm form, const PublishedFile& file,
                                const PublishedOptions& options);

}  // namespace ruv
