// Versions, errors, texts, tokens: what is read and freed.
#include "capi/handles.h"
#include "ruv/version.h"

namespace ruv {
namespace {

// Made when the library is loaded; freeing it does nothing.
ruvllm_error& no_memory() {
  static ruvllm_error error{CallError(Status(Code::out_of_memory, "out of memory"))};
  return error;
}
const ruvllm_error& kMadeEarly = no_memory();

// Null has empty texts, so that callers may print whatever they have.
const char* text_of(const ruvllm_error* error, const std::string CallError::*member) {
  return error == nullptr ? "" : (error->why.*member).c_str();
}

}  // namespace

// The caller frees it as any other, which does nothing.
ruvllm_status report_no_memory(ruvllm_error** error) noexcept {
  if (error != nullptr) *error = &no_memory();
  return RUVLLM_OUT_OF_MEMORY;
}

ruvllm_status report(ruvllm_error** error, const CallError& why) noexcept {
  if (error == nullptr) return why.status;
  try {
    *error = new_handle<ruvllm_error>(why);
  } catch (const std::bad_alloc&) {
    return report_no_memory(error);
  }
  return why.status;
}

CallResult<void> check_given(std::initializer_list<Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (argument.value == nullptr) return null_argument(argument.name);
  }
  return {};
}

}  // namespace ruv

using ruv::CallError;

extern "C" {

uint32_t ruvllm_abi_version(void) { return RUVLLM_ABI_VERSION; }
const char* ruvllm_version(void) { return RUV_VERSION; }

ruvllm_status ruvllm_error_status(const ruvllm_error* error) {
  return error == nullptr ? RUVLLM_INTERNAL : error->why.status;
}
const char* ruvllm_error_code(const ruvllm_error* error) {
  return ruv::text_of(error, &CallError::code);
}
const char* ruvllm_error_field(const ruvllm_error* error) {
  return ruv::text_of(error, &CallError::field);
}
const char* ruvllm_error_message(const ruvllm_error* error) {
  return ruv::text_of(error, &CallError::message);
}
void ruvllm_error_free(ruvllm_error* error) {
  if (error != &ruv::kMadeEarly) delete error;
}

const char* ruvllm_text_data(const ruvllm_text* text) {
  return text == nullptr ? nullptr : text->bytes.c_str();
}
size_t ruvllm_text_size(const ruvllm_text* text) {
  return text == nullptr ? 0 : text->bytes.size();
}
void ruvllm_text_free(ruvllm_text* text) { delete text; }

const int32_t* ruvllm_tokens_data(const ruvllm_tokens* tokens) {
  return tokens == nullptr ? nullptr : tokens->ids.data();
}
size_t ruvllm_tokens_size(const ruvllm_tokens* tokens) {
  return tokens == nullptr ? 0 : tokens->ids.size();
}
void ruvllm_tokens_free(ruvllm_tokens* tokens) { delete tokens; }

const float* ruvllm_vectors_data(const ruvllm_vectors* vectors) {
  return vectors == nullptr ? nullptr : vectors->numbers.get();
}
size_t ruvllm_vectors_rows(const ruvllm_vectors* vectors) {
  return vectors == nullptr ? 0 : vectors->n_rows;
}
size_t ruvllm_vectors_columns(const ruvllm_vectors* vectors) {
  return vectors == nullptr ? 0 : vectors->n_columns;
}
int64_t ruvllm_vectors_n_tokens(const ruvllm_vectors* vectors) {
  return vectors == nullptr ? 0 : vectors->n_tokens;
}
void ruvllm_vectors_free(ruvllm_vectors* vectors) { delete vectors; }

}  // extern "C"
