// FormStore: reads the forms of answers for one model, and keeps those that were read lately.
#pragma once

#include <list>

#include "base/thread.h"
#include "grammar/form/form.h"
#include "model/model.h"
#include "ruv/engine.h"

namespace ruv {

struct LoadedForm {
  const Model* model = nullptr;
  std::shared_ptr<const Form> form;
  AnswerForm asked = {};
};

class FormStore {
 public:
  // Forms that are kept. Each takes some hundred kilobytes at most.
  static constexpr size_t kMaxForms = 64;

  explicit FormStore(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  // Any thread. Fails: as Engine::load_form.
  Result<std::shared_ptr<const LoadedForm>> load(const AnswerForm& form);

 private:
  std::shared_ptr<const LoadedForm> find(const AnswerForm& form);
  std::shared_ptr<FormSpace> space();

  std::shared_ptr<const Model> model_;
  Mutex mutex_;
  std::shared_ptr<FormSpace> space_;  // made for the first form, and again when it is worn
  std::list<std::shared_ptr<const LoadedForm>> kept_;  // the latest first
};

}  // namespace ruv
