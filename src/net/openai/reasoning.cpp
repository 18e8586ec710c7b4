// A form or a budget needs the tokens between which the model thinks. Where these cannot be told
// from the text, the request is refused if the answer would come out wrong.
#include "net/openai/reasoning.h"

namespace ruv {
namespace {

tl::unexpected<ApiError> not_supported(const std::string& field, const char* why) {
  return tl::unexpected(
      bad_request(field, fmt::format("'{}': {}", field, why), "unsupported_field"));
}

}  // namespace

// The grammar of calls allows reasoning itself, so these need a region only for a budget. A form
// after reasoning that ends with a text has it in its own grammar (reasoned_form.h).
ApiResult<std::optional<ReasoningRegion>> reasoning_region(const AnswerFormat& format,
                                                           const GenerateRequest& request,
                                                           std::string_view prompt_tail) {
  const bool has_budget = request.thinking_budget >= 0;
  const bool has_form = request.form.has_value() && !request.may_call;
  if (!has_budget && !has_form) return std::nullopt;
  const bool channels = format.dialect.shape == ToolDialect::Shape::channels;
  const bool thinks = channels || !format.dialect.reasoning.end.empty();
  constexpr const char* kBudget = "thinking_token_budget";
  if (has_budget && !thinks) return not_supported(kBudget, "the model does not think in marks");
  if (has_budget && channels) {
    return not_supported(kBudget, "a budget is not supported for models that answer in channels");
  }
  if (!thinks || request.reasoning_effort == "none") return std::nullopt;
  if (!format.region) {
    constexpr const char* kWhy = "the end of the model's reasoning is not a token of its own";
    if (has_budget) return not_supported(kBudget, kWhy);
    if (channels) return not_supported(request.form->field, kWhy);
    return std::nullopt;
  }
  ReasoningRegion region = *format.region;
  // A template that switches thinking off closes the region in the prompt.
  region.is_open =
      region.is_open || open_reasoning(format.dialect.reasoning, prompt_tail).has_value();
  region.max_tokens = request.thinking_budget;
  return region;
}

}  // namespace ruv
