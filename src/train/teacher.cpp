#include "train/teacher.h"

#include "base/check.h"

namespace ruv {
namespace {

// Probabilities are compared token by token. Fails: invalid.
Status check_same_tokens(const Model& teacher, const Model& student) {
  const auto differs = [&](std::string_view what) {
    return fail(Code::invalid, "{}: {} than {}: a teacher must have the tokens of its student",
                teacher.file->path(), what, student.file->path());
  };
  if (teacher.h.n_vocab != student.h.n_vocab) return differs("has logits of more or fewer tokens");
  if (teacher.tokenizer == nullptr || student.tokenizer == nullptr) {
    if (teacher.tokenizer == student.tokenizer) return {};
    return differs("has a tokenizer or none, other");
  }
  const Tokenizer& of_teacher = *teacher.tokenizer;
  const Tokenizer& of_student = *student.tokenizer;
  if (of_teacher.vocab_size() != of_student.vocab_size()) {
    return differs("has more or fewer tokens");
  }
  for (Token id = 0; id < static_cast<Token>(of_student.vocab_size()); ++id) {
    if (of_teacher.token_bytes(id, true) == of_student.token_bytes(id, true)) continue;
    return differs(fmt::format("has another token {}", id));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Teacher>> Teacher::create(const std::string& path, const Model& student,
                                                 int n_threads, int64_t max_rows) {
  std::unique_ptr<Teacher> teacher(new Teacher(n_threads, max_rows));
  LoadOptions load;
  load.n_threads = n_threads;
  load.draft_head = false;
  teacher->model_ = TRY(load_model_on(teacher->device_, path, load));
  TRY(check_same_tokens(*teacher->model_, student));
  teacher->activations_ = TRY(Activations::create(*teacher->model_, max_rows, max_rows));
  teacher->ops_ = teacher->device_->make_ops(teacher->pool_);
  return teacher;
}

// Nothing is recorded.
Result<Adjoined<float>> Teacher::logits(std::span<const TrainSequence> sequences) {
  const auto batches = TRY(make_batches(sequences, {max_rows_, model_->h.n_vocab}));
  CHECK(batches.size() == 1);
  device_->forgive();
  const auto output =
      decode(*ops_, *model_, batches.front().rows.batch(), *activations_, max_rows_);
  TRY(device_->failure());
  return device_->memory().numbers(output->logits, false);
}

}  // namespace ruv
