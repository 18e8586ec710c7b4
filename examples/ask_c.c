/* Loads a model, asks a question, prints the answer as it comes: ask_c MODEL QUESTION */
#include <ruvllm.h>
#include <stdio.h>
#include <stdlib.h>

static int print_piece(const char* text, size_t size, void* user) {
  (void)user;
  fwrite(text, 1, size, stdout);
  fflush(stdout);
  return 0; /* anything else ends the answer */
}

static int failed(ruvllm_error* error) {
  fprintf(stderr, "%s: %s\n", ruvllm_error_code(error), ruvllm_error_message(error));
  ruvllm_error_free(error);
  return 1;
}

/* The question as a JSON text; the caller frees it. */
static char* quoted(const char* text) {
  static const char digits[] = "0123456789abcdef";
  size_t size = 0;
  const char* from;
  char *quote, *to;
  for (from = text; *from != 0; ++from) size += 6;
  quote = malloc(size + 3);
  if (quote == NULL) return NULL;
  to = quote;
  *to++ = '"';
  for (from = text; *from != 0; ++from) {
    const unsigned char c = (unsigned char)*from;
    if (c == '"' || c == '\\' || c < 0x20) {
      *to++ = '\\', *to++ = 'u', *to++ = '0', *to++ = '0';
      *to++ = digits[c >> 4], *to++ = digits[c & 15];
    } else {
      *to++ = *from;
    }
  }
  *to++ = '"';
  *to = 0;
  return quote;
}

int main(int argc, char** argv) {
  static const char form[] =
      "{\"messages\": [{\"role\": \"user\", \"content\": %s}], \"temperature\": 0, \"max_tokens\": "
      "100}";
  ruvllm_model* model = NULL;
  ruvllm_text* answer = NULL;
  ruvllm_error* error = NULL;
  char *question = NULL, *request = NULL;
  size_t size;
  int code = 1;

  if (argc != 3) return fprintf(stderr, "usage: ask_c MODEL QUESTION\n"), 2;
  if (ruvllm_model_load(argv[1], NULL, NULL, NULL, &model, &error) != RUVLLM_OK) {
    return failed(error);
  }
  question = quoted(argv[2]);
  size = sizeof form + (question == NULL ? 0 : 6 * sizeof(char));
  for (const char* at = question; at != NULL && *at != 0; ++at) ++size;
  request = question == NULL ? NULL : malloc(size);
  if (request != NULL) {
    snprintf(request, size, form, question);
    code = 0;
    if (ruvllm_chat(model, request, print_piece, NULL, &answer, &error) != RUVLLM_OK) {
      code = failed(error);
    }
    putchar('\n');
  }
  ruvllm_text_free(answer);
  ruvllm_model_free(model);
  free(request);
  free(question);
  return code;
}
