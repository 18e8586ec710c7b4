#include "grammar/form/form_constraint.h"

#include <algorithm>

namespace ruv {

FormConstraint::FormConstraint(std::shared_ptr<const Form> form, std::string_view prefix)
    : form_(std::move(form)) {
  const Lock guard(form_->space().mutex());
  reader_ = std::make_unique<FormReader>(form_->reader(prefix));
}

FormConstraint::FormConstraint(std::shared_ptr<const Form> form, const FormReader& reader)
    : form_(std::move(form)), reader_(std::make_unique<FormReader>(reader)) {}

// The reader goes first: it refers to the form.
FormConstraint::~FormConstraint() {
  const std::shared_ptr<const Form> kept = form_;
  const Lock guard(kept->space().mutex());
  reader_.reset();
}

std::unique_ptr<TokenConstraint> FormConstraint::clone() const {
  const Lock guard(form_->space().mutex());
  std::unique_ptr<FormConstraint> made(new FormConstraint(form_, *reader_));
  made->has_ended_ = has_ended_;
  made->is_lost_ = is_lost_;
  return made;
}

bool FormConstraint::is_end(Token id) const {
  const std::vector<Token>& ends = form_->space().ends();
  return std::ranges::find(ends, id) != ends.end();
}

bool FormConstraint::complete() const {
  const Lock guard(form_->space().mutex());
  return has_ended_ || reader_->only_ends();
}

Status FormConstraint::allow(TokenMask& mask) const {
  const Lock guard(form_->space().mutex());
  reader_->allow(mask);
  if (reader_->may_end()) mask.add(form_->space().ends());
  const bool is_stuck = is_lost_ || (reader_->frontier().empty() && !reader_->may_end());
  if (!is_stuck && !reader_->gave_up() && !form_->is_worn()) return {};
  return fail(Code::unsupported, "the answer cannot be continued in its form: {}",
              is_stuck ? "nothing can follow what was written" : "it takes too much work")
      .value();
}

bool FormConstraint::allows(Token id) const {
  const Lock guard(form_->space().mutex());
  if (is_end(id)) return reader_->may_end();
  return reader_->allows_token(id) || reader_->allows(form_->space().tokens().bytes(id));
}

std::string FormConstraint::foreseen(size_t max_bytes) const {
  const Lock guard(form_->space().mutex());
  return has_ended_ ? std::string() : reader_->foreseen(max_bytes);
}

std::optional<std::string> FormConstraint::ending(size_t max_bytes) const {
  const Lock guard(form_->space().mutex());
  if (is_lost_ || reader_->gave_up() || form_->is_worn()) return std::nullopt;
  return has_ended_ ? std::string() : reader_->ending(max_bytes);
}

void FormConstraint::accept(Token id) {
  const Lock guard(form_->space().mutex());
  if (is_end(id) && reader_->may_end()) {
    has_ended_ = true;
    return;
  }
  if (reader_->allows_token(id)) {
    is_lost_ = !reader_->accept_token(id);
    return;
  }
  const std::string_view bytes = form_->space().tokens().bytes(id);
  is_lost_ = bytes.empty() || !reader_->accept(bytes);
}

}  // namespace ruv
