// POST /infill, read as a request of /v1/completions whose prompt is made of control tokens.
#include "net/llamacpp/infill.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "net/openai/api_route.h"
#include "net/openai/fill_in.h"
#include "net/openai/prompt_answer.h"
#include "net/openai/translate.h"

namespace ruv {
namespace {

constexpr std::array kInfillFields{
    FieldRow{"input_prefix", kHonoured, "required: the text before the gap"},
    FieldRow{"input_suffix", kHonoured, "required: the text after it"},
    FieldRow{"input_extra", kHonoured,
             "a list of {\"filename\", \"text\"}: other files, which come first", "[[]]"},
    FieldRow{"prompt", kHonoured, "a text with which the answer has begun already", R"([""])"},
    FieldRow{"model", kHonoured, "the served model's name or alias; absent: the served model"},
    FieldRow{"n_predict", kHonoured, "tokens to generate at most", "[-1]"},
    FieldRow{"stream", kHonoured, "true: server-sent events"},
    FieldRow{"stop", kHonoured, "a text or up to 16 texts; the answer ends before them",
             R"(["", []])"},
    FieldRow{"seed", kHonoured, "the same seed gives the same bytes", "[-1]"},
    FieldRow{"repeat_penalty", kHonoured, "another name of repetition_penalty"},
    FieldRow{"repeat_last_n", kHonoured, "another name of repetition_window"},
    FieldRow{"cache_prompt", kHonoured, "another name of cache_prefix"},
    FieldRow{"user", kHonoured, "whose request it is"},
    FieldRow{"timeout_ms", kHonoured, "the answer fails when it is not finished in this time"},
    FieldRow{"response_fields", kHonoured,
             "up to 64 paths, as \"timings/prompt_n\": the answer has these members alone", "[[]]"},
    FieldRow{"id_slot", kNoEffect, "prompts find what the cache has without slots"},
    FieldRow{"t_max_prompt_ms", kNoEffect, "llama.cpp does nothing with it; see timeout_ms"},
    FieldRow{"min_keep", kUnsupported, "", "[0, 1]"},
    FieldRow{"n_cache_reuse", kUnsupported, "", "[0]"},
    FieldRow{"n_probs", kUnsupported, "see /v1/completions", "[0]"},
    FieldRow{"return_tokens", kUnsupported, "", "[false]"},
    FieldRow{"timings_per_token", kUnsupported, "", "[false]"},
    FieldRow{"return_progress", kUnsupported, "", "[false]"},
    FieldRow{"lora", kHonoured, "the adapters to compute with, as in /v1/completions"},
};
constexpr BodyTable kInfill{"infill", kInfillFields, kMaxConversationValues, true};
constexpr size_t kMaxMembers = 64;
constexpr FieldRow kExtraRows[] = {{"filename", kHonoured, ""}, {"text", kHonoured, ""}};

// A text of the body; empty where it is absent and not required.
ApiResult<std::string> body_text(const Json& body, const char* name, bool required) {
  const Json* value = find_field(body, name);
  if (value == nullptr && required) return missing_field(name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong_type(name, "a string", *value);
  return value->get<std::string>();
}

ApiResult<std::vector<FillFile>> extra_files(const Json& body) {
  std::vector<FillFile> files;
  const Json* extra = find_field(body, "input_extra");
  if (extra == nullptr) return files;
  if (!extra->is_array()) return wrong_type("input_extra", "an array", *extra);
  for (size_t i = 0; i < extra->size(); ++i) {
    const std::string where = fmt::format("input_extra[{}]", i);
    const Json& file = (*extra)[i];
    if (!file.is_object()) return wrong_type(where, "an object", file);
    TRY(check_fields(file, kExtraRows, where + "."));
    std::string text = TRY(text_member(file, "text", where));
    const bool has_name = find_field(file, "filename") != nullptr;
    std::string name = has_name ? TRY(text_member(file, "filename", where)) : std::string("tmp");
    files.push_back({std::move(name), std::move(text)});
  }
  return files;
}

ApiResult<std::vector<std::string>> wanted_members(const Json& body) {
  std::vector<std::string> members;
  const Json* paths = find_field(body, "response_fields");
  if (paths == nullptr) return members;
  if (!paths->is_array()) return wrong_type("response_fields", "an array", *paths);
  if (paths->size() > kMaxMembers) {
    return tl::unexpected(bad_request(
        "response_fields", fmt::format("'response_fields' has {} paths, at most {} are allowed",
                                       paths->size(), kMaxMembers)));
  }
  for (size_t i = 0; i < paths->size(); ++i) {
    const Json& path = (*paths)[i];
    if (!path.is_string()) {
      return wrong_type(fmt::format("response_fields[{}]", i), "a string", path);
    }
    members.push_back(path.get<std::string>());
  }
  return members;
}

// Everything that is not the prompt, as a request of /v1/completions has it.
Json completion_of_infill(const Json& body) {
  Json completion = {{"prompt", "-"}};
  for (const auto& [name, value] : body.items()) {
    const bool is_text = name == "input_prefix" || name == "input_suffix" ||
                         name == "input_extra" || name == "prompt";
    const bool is_of_route =
        name == "response_fields" || name == "id_slot" || name == "t_max_prompt_ms";
    if (!is_text && !is_of_route) completion[name] = value;
  }
  return completion;
}

ApiResult<void> answer_infill(const ApiCall& call, const std::shared_ptr<Reply>& reply) {
  const ModelText& text = *call.service.text;
  const std::string before = TRY(body_text(call.body, "input_prefix", true));
  const std::string after = TRY(body_text(call.body, "input_suffix", true));
  const std::string begun = TRY(body_text(call.body, "prompt", false));
  const std::vector<FillFile> files = TRY(extra_files(call.body));
  GenerateRequest request =
      TRY(read_completion_request(completion_of_infill(call.body), call.service.usual));
  const std::optional<FillMarks> marks = fill_marks(text);
  if (!marks) {
    return tl::unexpected(bad_request("input_suffix",
                                      "'input_suffix': the model's vocabulary has no tokens for "
                                      "gaps; use a model that was trained to fill them",
                                      "unsupported_model"));
  }
  TRY(check_awaited(call.http));
  const FillGap gap{.before = before, .after = after, .begun = begun, .files = files};
  const auto make_writer = [members = TRY(wanted_members(call.body))](AnswerHead head) {
    return infill_writer(std::move(head), members);
  };
  request.prompts = {RawPrompt{.ids = TRY(fill_prompt(text, *marks, gap)), .is_ids = true}};
  std::ranges::copy(marks->ends, std::back_inserter(request.params.stop_tokens));
  return answer_prompts(call, std::move(request), make_writer, reply);
}

}  // namespace

const BodyTable& infill_fields() { return kInfill; }

Route infill_route(ServedModels& models) {
  return api_route(models, "POST", "/infill", infill_fields(), answer_infill);
}

}  // namespace ruv
