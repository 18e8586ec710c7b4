/* Calls of the C interface in random order from several threads, with wrong ones among them:
   random_calls MODEL CALLS [THREADS] [SEED]. Fails where a call ends otherwise than it should.
   With a build that has sanitizers it looks for leaks; prints the memory of the process by the way.
 */
#include <pthread.h>
#include <ruvllm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Caller {
  ruvllm_model* model;
  long n_calls;
  unsigned long long seed;
  long n_wrong;
} Caller;

static unsigned next_random(Caller* caller, unsigned n) {
  caller->seed = caller->seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(caller->seed >> 33) % n;
}

static void expect(Caller* caller, const char* what, int right) {
  if (right) return;
  ++caller->n_wrong;
  fprintf(stderr, "%s: not as it should be\n", what);
}

/* The error is there exactly where the call failed; it is looked at when the call is over. */
static void ended(Caller* caller, const char* what, ruvllm_status status, ruvllm_status wanted,
                  ruvllm_error** error) {
  expect(caller, what, status == wanted && (*error != NULL) == (status >= RUVLLM_INVALID));
  if (status != wanted) fprintf(stderr, "%d: %s\n", (int)status, ruvllm_error_message(*error));
  ruvllm_error_free(*error);
  *error = NULL;
}

static int count_pieces(const char* text, size_t size, void* user) {
  (void)text, (void)size;
  return --*(int*)user <= 0;
}

/* An answer's text, whole, in pieces, or up to a piece. */
static void ask_text(Caller* caller) {
  static const char* const requests[] = {
      "{\"prompt\": \"One, two,\", \"max_tokens\": 3}",
      "{\"prompt\": [5, 6, 7], \"max_tokens\": 2, \"logprobs\": 2, \"seed\": 1}",
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"max_tokens\": 3}",
      "{\"prompt\": \"a\", \"max_tokens\": 60, \"ignore_eos\": true}"};
  const unsigned which = next_random(caller, 4);
  int n_pieces = (int)next_random(caller, 3);
  ruvllm_text* text = NULL;
  ruvllm_error* error = NULL;
  const ruvllm_status status = (which == 2 ? ruvllm_chat : ruvllm_generate)(
      caller->model, requests[which], n_pieces > 0 ? count_pieces : NULL, &n_pieces, &text, &error);
  ended(caller, "text", status, RUVLLM_OK, &error);
  expect(caller, "text's end", text != NULL && ruvllm_text_data(text)[ruvllm_text_size(text)] == 0);
  ruvllm_text_free(text);
}

/* A request as it comes, cancelled or freed somewhere on its way. */
static void ask_parts(Caller* caller) {
  static const char body[] =
      "{\"prompt\": \"Once\", \"max_tokens\": 12, \"ignore_eos\": true, \"stream\": %s}";
  char request[sizeof body + 8];
  ruvllm_call* call = NULL;
  ruvllm_error* error = NULL;
  const char* data = NULL;
  size_t size = 0;
  ruvllm_status status = RUVLLM_OK;
  int n_left = (int)next_random(caller, 12);
  const unsigned way = next_random(caller, 3);
  snprintf(request, sizeof request, body, next_random(caller, 2) ? "true" : "false");
  status = ruvllm_call_begin(caller->model, "POST", "/v1/completions", request, &call, &error);
  ended(caller, "begin", status, RUVLLM_OK, &error);
  while (n_left-- > 0 || way == 0) {
    status = ruvllm_call_next(call, way == 1 ? 0 : -1, &data, &size, &error);
    if (status == RUVLLM_END) break;
    expect(caller, "part", status == RUVLLM_PENDING || (status == RUVLLM_OK && data[size] == 0));
    ruvllm_error_free(error);
  }
  if (way == 2 && status != RUVLLM_END) {
    ruvllm_call_cancel(call);
    status = ruvllm_call_next(call, -1, &data, &size, &error);
    expect(caller, "cancelled", status == RUVLLM_CANCELLED || status == RUVLLM_END);
    ruvllm_error_free(error);
  }
  ruvllm_call_free(call);
}

static void ask_vectors(Caller* caller) {
  const char* const request =
      next_random(caller, 2) ? "{\"input\": \"a text\"}" : "{\"input\": [\"a\", \"b\"]}";
  ruvllm_vectors* vectors = NULL;
  ruvllm_error* error = NULL;
  ruvllm_call* call = NULL;
  const char* data = NULL;
  size_t size = 0;
  if (next_random(caller, 2)) {
    ended(caller, "embed", ruvllm_embed(caller->model, request, &vectors, &error), RUVLLM_OK,
          &error);
    expect(caller, "rows", ruvllm_vectors_rows(vectors) > 0);
  } else {
    ended(caller, "embed_begin", ruvllm_embed_begin(caller->model, request, &call, &error),
          RUVLLM_OK, &error);
    if (next_random(caller, 2)) {
      ended(caller, "embed_next", ruvllm_call_next(call, -1, &data, &size, &error), RUVLLM_END,
            &error);
      ended(caller, "take", ruvllm_call_take_vectors(call, &vectors, &error), RUVLLM_OK, &error);
      ruvllm_vectors_free(vectors);
    }
    vectors = NULL;
    ended(caller, "no vectors", ruvllm_call_take_vectors(call, &vectors, &error), RUVLLM_INVALID,
          &error);
    ruvllm_call_free(call);
  }
  ruvllm_vectors_free(vectors);
}

static void ask_tokens(Caller* caller) {
  static const char text[] =
      "Texts, gr\xc3\xbc\xc3\x9f"
      "e, \xff and <|endoftext|>";
  ruvllm_tokens* tokens = NULL;
  ruvllm_text* back = NULL;
  ruvllm_error* error = NULL;
  const size_t size = next_random(caller, sizeof text);
  ended(caller, "tokenize",
        ruvllm_tokenize(caller->model, text, size, next_random(caller, 4), &tokens, &error),
        RUVLLM_OK, &error);
  ended(caller, "detokenize",
        ruvllm_detokenize(caller->model, ruvllm_tokens_data(tokens), ruvllm_tokens_size(tokens), 0,
                          &back, &error),
        RUVLLM_OK, &error);
  ruvllm_tokens_free(tokens);
  ruvllm_text_free(back);
}

static void ask_path(Caller* caller) {
  static const struct {
    const char *method, *path, *body;
    ruvllm_status status;
  } paths[] = {
      {"GET", "/v1/engine/stats", NULL, RUVLLM_OK},
      {"GET", "/props", NULL, RUVLLM_OK},
      {"POST", "/tokenize", "{\"content\": \"a b\"}", RUVLLM_OK},
      {"POST", "/v1/embeddings", "{\"input\": \"a\"}", RUVLLM_OK},
      {"POST", "/v1/completions", "{\"prompt\": \"a\", \"max_tokens\": 2, \"n\": 2}", RUVLLM_OK},
      {"POST", "/v1/completions", "{\"prompt\": ", RUVLLM_INVALID},
      {"POST", "/v1/completions", "{\"prompt\": \"a\", \"tempreture\": 1}", RUVLLM_INVALID},
      {"POST", "/v1/chat/completions", "{\"messages\": []}", RUVLLM_INVALID},
      {"POST", "/v1/completions", NULL, RUVLLM_INVALID},
      {"GET", "/nowhere", NULL, RUVLLM_NOT_FOUND}};
  const unsigned which = next_random(caller, sizeof paths / sizeof paths[0]);
  ruvllm_text* answer = NULL;
  ruvllm_error* error = NULL;
  const ruvllm_status status = ruvllm_request(caller->model, paths[which].method, paths[which].path,
                                              paths[which].body, &answer, &error);
  ended(caller, paths[which].path, status, paths[which].status, &error);
  ruvllm_text_free(answer);
}

static void ask_wrong(Caller* caller) {
  ruvllm_text* text = NULL;
  ruvllm_error* error = NULL;
  const int32_t beyond = 1 << 30;
  switch (next_random(caller, 4)) {
    case 0:
      ended(caller, "null", ruvllm_chat(caller->model, NULL, NULL, NULL, &text, &error),
            RUVLLM_INVALID, &error);
      break;
    case 1:
      ended(caller, "not JSON", ruvllm_chat(caller->model, "\xff{", NULL, NULL, &text, &error),
            RUVLLM_INVALID, &error);
      break;
    case 2:
      ended(caller, "id", ruvllm_detokenize(caller->model, &beyond, 1, 0, &text, &error),
            RUVLLM_INVALID, &error);
      break;
    default:
      ended(caller, "info", ruvllm_model_info(caller->model, &text, &error), RUVLLM_OK, &error);
  }
  ruvllm_text_free(text);
}

static void* make_calls(void* user) {
  static void (*const kinds[])(Caller*) = {ask_text,   ask_parts, ask_vectors,
                                           ask_tokens, ask_path,  ask_wrong};
  Caller* const caller = user;
  for (long i = 0; i < caller->n_calls; ++i) {
    kinds[next_random(caller, sizeof kinds / sizeof kinds[0])](caller);
  }
  return NULL;
}

/* Resident memory of the process. */
static long resident_mib(void) {
  long n_all = 0, n_resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL) return -1;
  if (fscanf(file, "%ld %ld", &n_all, &n_resident) != 2) n_resident = 0;
  fclose(file);
  return n_resident * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

enum { most_threads = 64, n_parts = 10 };

int main(int argc, char** argv) {
  Caller callers[most_threads] = {{0}};
  pthread_t threads[most_threads];
  ruvllm_model* model = NULL;
  ruvllm_error* error = NULL;
  const long n_calls = argc > 2 ? atol(argv[2]) : 0;
  const int n_threads = argc > 3 ? atoi(argv[3]) : 4;
  long n_wrong = 0;

  if (n_calls <= 0 || n_threads < 1 || n_threads > most_threads) {
    return fprintf(stderr, "usage: random_calls MODEL CALLS [THREADS] [SEED]\n"), 2;
  }
  if (ruvllm_model_load(argv[1], "{\"n_ctx\": 256, \"max_sequences\": 4, \"cache_tokens\": 4096}",
                        NULL, NULL, &model, &error) != RUVLLM_OK) {
    return fprintf(stderr, "%s\n", ruvllm_error_message(error)), 1;
  }
  for (int i = 0; i < n_threads; ++i) {
    callers[i].model = model;
    callers[i].n_calls = n_calls / n_threads / n_parts + 1;
    callers[i].seed = (unsigned long long)(argc > 4 ? atol(argv[4]) : 1) * 1000 + (unsigned)i;
  }
  for (int part = 1; part <= n_parts; ++part) {
    for (int i = 0; i < n_threads; ++i) {
      if (pthread_create(&threads[i], NULL, make_calls, &callers[i]) != 0) abort();
    }
    for (int i = 0; i < n_threads; ++i) pthread_join(threads[i], NULL);
    printf("%ld calls, %ld MiB\n", part * n_threads * callers[0].n_calls, resident_mib());
    fflush(stdout);
  }
  for (int i = 0; i < n_threads; ++i) n_wrong += callers[i].n_wrong;
  ruvllm_model_free(model);
  printf("%ld wrong\n", n_wrong);
  return n_wrong != 0;
}
