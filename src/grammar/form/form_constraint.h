// FormConstraint: holds an answer to a form, token by token.
#pragma once

#include "grammar/form/form.h"
#include "text/token_constraint.h"

namespace ruv {

class FormConstraint final : public TokenConstraint {
 public:
  // `prefix`: bytes that the tokens begin with before the form does, as token healing needs them.
  // Takes the lock of the form's space, as all functions do.
  explicit FormConstraint(std::shared_ptr<const Form> form, std::string_view prefix = {});
  ~FormConstraint() override;

  std::unique_ptr<TokenConstraint> clone() const override;
  bool done() const override { return false; }
  bool complete() const override;
  // End tokens are among them where the form may end. Fails: unsupported (too much work; nothing
  // can follow).
  Status allow(TokenMask& mask) const override;
  bool allows(Token id) const override;
  std::string foreseen(size_t max_bytes) const override;
  std::optional<std::string> ending(size_t max_bytes) const override;
  void accept(Token id) override;

 private:
  FormConstraint(std::shared_ptr<const Form> form, const FormReader& reader);
  bool is_end(Token id) const;

  std::shared_ptr<const Form> form_;
  std::unique_ptr<FormReader> reader_;
  bool has_ended_ = false;  // an end token came
  bool is_lost_ = false;    // a token came that could not
};

}  // namespace ruv
