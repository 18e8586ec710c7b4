/* The C interface of RuvLLM: load a model, generate, chat, make vectors of texts, serve it.
   Programs and other languages use these functions alone; C++ has headers of its own
   (ruv/engine.h).

   Requests and answers are the JSON of the HTTP API (docs/http.md), checked by the same code, so
   that a field has one meaning everywhere and a wrong one is refused by its name.

   Rules for all functions:
   - Texts are UTF-8 and end with NUL unless a size is given. Pointers that are not named as
   optional must not be null; where one is, the call fails with RUVLLM_INVALID.
   - `error` is optional. Where a call fails and `error` is not null, *error is set to what went
   wrong and must be freed; otherwise it is set to null. Results are null where a call fails.
   - What a function returns through a pointer belongs to the caller and is freed by the function of
     its kind. Freeing null does nothing; using a freed handle is undefined.
   - No function throws, prints, or ends the process.
   - Any thread may call any function unless its comment says otherwise. A handle must not be freed
     while another thread is in a call with it, except where that is said.
   - After fork() the child must not use handles of the parent: the engine's threads are not there.
   - Handles should be freed before the process exits: a model that still computes while exit() runs
     uses what exit() destroys. */
#ifndef RUVLLM_H
#define RUVLLM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RUVLLM_API __attribute__((visibility("default")))
#else
#define RUVLLM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a function is added or changed. Equal first parts of the library's file name,
   libruvllm.so.1, mean that programs need not be compiled again. */
#define RUVLLM_ABI_VERSION 1

/* RUVLLM_ABI_VERSION of the library that is loaded. */
RUVLLM_API uint32_t ruvllm_abi_version(void);
/* The version of the program and the library, as "0.1.0". Static; not to be freed. */
RUVLLM_API const char* ruvllm_version(void);

/* ---- Failures ----------------------------------------------------------------------------------
 */

typedef enum ruvllm_status {
  RUVLLM_OK = 0,
  RUVLLM_END = 1,     /* nothing more follows */
  RUVLLM_PENDING = 2, /* the time is over, the work is not */
  /* Failures: */
  RUVLLM_INVALID = 16, /* an argument or a field is wrong */
  RUVLLM_NOT_FOUND,    /* a file, model, session or path does not exist */
  RUVLLM_UNSUPPORTED,  /* understood, but this build cannot do it */
  RUVLLM_CORRUPT,      /* a file breaks its own format */
  RUVLLM_OUT_OF_MEMORY,
  RUVLLM_UNAVAILABLE, /* try again later */
  RUVLLM_CANCELLED,   /* by ruvllm_call_cancel, or as the model is being freed */
  RUVLLM_DEADLINE,    /* the request's own timeout_ms */
  RUVLLM_INTERNAL     /* our fault */
} ruvllm_status;

/* Why a call failed. Immutable. */
typedef struct ruvllm_error ruvllm_error;

/* All four give the same as long as the error lives; RUVLLM_INTERNAL and "" for null. */
RUVLLM_API ruvllm_status ruvllm_error_status(const ruvllm_error* error);
/* For programs: "unknown_field", "context_length_exceeded", as the HTTP API has it. */
RUVLLM_API const char* ruvllm_error_code(const ruvllm_error* error);
/* The field that is wrong, "messages[0].role"; "" where it is none. */
RUVLLM_API const char* ruvllm_error_field(const ruvllm_error* error);
/* For people: what failed, where, and the way out. */
RUVLLM_API const char* ruvllm_error_message(const ruvllm_error* error);
RUVLLM_API void ruvllm_error_free(ruvllm_error* error);

/* ---- Texts -------------------------------------------------------------------------------------
 */

/* A text that a call has made. Immutable. */
typedef struct ruvllm_text ruvllm_text;

/* Ends with NUL and may have others before; null for null. */
RUVLLM_API const char* ruvllm_text_data(const ruvllm_text* text);
/* Without the NUL at the end; 0 for null. */
RUVLLM_API size_t ruvllm_text_size(const ruvllm_text* text);
RUVLLM_API void ruvllm_text_free(ruvllm_text* text);

/* ---- Models ------------------------------------------------------------------------------------
 */

/* A loaded model with its engine and the memory of its contexts. Any number of threads may use one;
   what they ask for is computed together. */
typedef struct ruvllm_model ruvllm_model;

/* Called by ruvllm_model_load with the share done, from 0 to 1, on a thread of the library. */
typedef void (*ruvllm_progress)(double share, void* user);

/* Loads a GGUF file or a folder with safetensors, and waits for that. Null as `path`: the model
   that comes with the library, share/ruvllm/ruvltra-nano-q8_0.gguf beside its folder. `options`,
   optional, is a JSON object with any of:

     n_ctx            longest prompt and answer in tokens; 0: what the model was trained for
     n_threads        threads that compute; 0: one for each core
     kv_type          keys and values in "f16", "int8", "int4" or "int2"
     max_sequences    answers that are generated at the same time [8]
     cache_tokens     tokens of context in memory; 0: as the machine allows
     cache_dir        folder that keeps beginnings of prompts, and sessions
     cache_disk_mib   size limit of the former in MiB [8192]
     cache_key        64 hexadecimal digits: encrypts both
     packed_dir       folder of packed weights, which make the next load fast; absent: none is kept
     quantize         type that matrices of floats get as they load, "q4_k_m"; "auto": the best that
                      fits the memory, where floats do not; absent: they stay
     draft_model      path of a smaller model, or of a head, that drafts tokens
     draft_head       false: layers of the file that draft tokens are left out
     ignore_keys      list of keys of the file that are taken as absent
     portable         true: the same bytes as every other machine, also with f16 and bf16 weights
     name             of the model in requests and answers; absent: the file's
     adapters         object of names and paths: adapters (LoRA) that requests name in `lora`, or
                      as their model
     adapter_dir      folder from which POST /v1/load_lora_adapter may load others
     adapter_mib      memory of adapters in MiB, above which others are read again when they are
                      asked for [512]

   `progress` is optional. Fails: RUVLLM_INVALID naming the option, RUVLLM_NOT_FOUND,
   RUVLLM_CORRUPT, RUVLLM_UNSUPPORTED, RUVLLM_OUT_OF_MEMORY, RUVLLM_UNAVAILABLE (another process has
   cache_dir). */
RUVLLM_API ruvllm_status ruvllm_model_load(const char* path, const char* options,
                                           ruvllm_progress progress, void* user,
                                           ruvllm_model** model, ruvllm_error** error);
/* Calls and servers of the model may outlive this handle: the model leaves memory with the last of
   them. Waits for the engine to stop where this is the last. */
RUVLLM_API void ruvllm_model_free(ruvllm_model* model);
/* What is known of the model, as a JSON object: "name", "architecture", "format", "n_params",
   "n_layers", "n_embd", "n_vocab", "n_ctx", "n_ctx_train", "kv_type", "weight_bytes",
   "has_chat_template", "tools", "reasoning", "embedding" (null, or "dimensions" and more),
   "remarks", and others. */
RUVLLM_API ruvllm_status ruvllm_model_info(const ruvllm_model* model, ruvllm_text** json,
                                           ruvllm_error** error);

/* ---- Tokens ------------------------------------------------------------------------------------
 */

/* A list of token ids. Immutable. */
typedef struct ruvllm_tokens ruvllm_tokens;

/* Null for null. */
RUVLLM_API const int32_t* ruvllm_tokens_data(const ruvllm_tokens* tokens);
/* 0 for null. */
RUVLLM_API size_t ruvllm_tokens_size(const ruvllm_tokens* tokens);
RUVLLM_API void ruvllm_tokens_free(ruvllm_tokens* tokens);

enum {
  /* ruvllm_tokenize: with the tokens that the model's texts begin and end with. */
  RUVLLM_ADD_SPECIAL = 1,
  /* ruvllm_tokenize: control tokens that are written in the text become their ids. Not for users'
     texts. */
  RUVLLM_PARSE_SPECIAL = 2,
  /* ruvllm_detokenize: control tokens have a text. */
  RUVLLM_WITH_SPECIAL = 4
};

/* The ids of `size` bytes of text; bytes that are not UTF-8 are tokenised as the model does that.
   `flags`: of RUVLLM_ADD_SPECIAL and RUVLLM_PARSE_SPECIAL. Fails: RUVLLM_UNSUPPORTED (the model has
   no tokenizer). */
RUVLLM_API ruvllm_status ruvllm_tokenize(const ruvllm_model* model, const char* text, size_t size,
                                         uint32_t flags, ruvllm_tokens** tokens,
                                         ruvllm_error** error);
/* The text of ids, with U+FFFD for bytes that form no character. `flags`: RUVLLM_WITH_SPECIAL or 0.
   Fails: RUVLLM_INVALID (an id outside the vocabulary), RUVLLM_UNSUPPORTED. */
RUVLLM_API ruvllm_status ruvllm_detokenize(const ruvllm_model* model, const int32_t* ids,
                                           size_t size, uint32_t flags, ruvllm_text** text,
                                           ruvllm_error** error);

/* ---- Answers in one call -----------------------------------------------------------------------
 */

/* Called on the calling thread with each piece of text as it comes, `size` bytes of whole
   characters. Anything but 0 ends the answer, and the call returns RUVLLM_OK with the text so far.
   It may call any function. */
typedef int (*ruvllm_on_text)(const char* text, size_t size, void* user);

/* Continues a prompt. `request` is the body of POST /v1/completions: {"prompt": "Once",
   "max_tokens": 20}. `on_text` is optional. `answer` gets all of the text. Fails: as
   ruvllm_call_next; RUVLLM_INVALID for a request with several answers, for which there is
   ruvllm_request. */
RUVLLM_API ruvllm_status ruvllm_generate(ruvllm_model* model, const char* request,
                                         ruvllm_on_text on_text, void* user, ruvllm_text** answer,
                                         ruvllm_error** error);
/* Answers a conversation. `request` is the body of POST /v1/chat/completions: {"messages":
   [{"role": "user", "content": "Hello"}]}. Reasoning is left out of the text. Otherwise as
   ruvllm_generate; requests with "tools" are refused, as calls are not text. */
RUVLLM_API ruvllm_status ruvllm_chat(ruvllm_model* model, const char* request,
                                     ruvllm_on_text on_text, void* user, ruvllm_text** answer,
                                     ruvllm_error** error);
/* The answer of the HTTP API's path to a request, as a whole. `method` and `path` are "POST" with
   /v1/completions, /v1/chat/completions, /v1/embeddings, /v1/rerank, /v1/score, /tokenize,
   /detokenize, /apply-template, /v1/load_lora_adapter and /v1/unload_lora_adapter, "GET" with
   /v1/sessions, /v1/engine/stats, /props, /version and /lora-adapters, and "GET", "PUT" and
   "DELETE" with /v1/sessions/NAME. `body` is optional. */
RUVLLM_API ruvllm_status ruvllm_request(ruvllm_model* model, const char* method, const char* path,
                                        const char* body, ruvllm_text** answer,
                                        ruvllm_error** error);

/* ---- Answers as they come ----------------------------------------------------------------------
 */

/* A request that runs. One thread takes what comes; any other may cancel. */
typedef struct ruvllm_call ruvllm_call;

/* Begins a request and returns when it has been read; arguments as ruvllm_request. What is wrong
   with the request is what ruvllm_call_next fails with. */
RUVLLM_API ruvllm_status ruvllm_call_begin(ruvllm_model* model, const char* method,
                                           const char* path, const char* body, ruvllm_call** call,
                                           ruvllm_error** error);
/* Waits for the next part of the answer, at most `timeout_ms`; negative: as long as it takes. With
   RUVLLM_OK *data and *size are the JSON of one event where the request has "stream": true, else of
   the whole answer; they end with NUL and are valid until the next call with the handle. Where
   events come within 2 ms of each other one wakes the caller for all of them, and may have the text
   of several tokens.
   RUVLLM_END: the answer was complete. RUVLLM_PENDING: nothing came in time; ask again. Fails with
   what is wrong with the request or the answer, and again with the same when it is called again. */
RUVLLM_API ruvllm_status ruvllm_call_next(ruvllm_call* call, int64_t timeout_ms, const char** data,
                                          size_t* size, ruvllm_error** error);
/* Ends the answer within one step of the engine: ruvllm_call_next fails with RUVLLM_CANCELLED
   unless the answer was complete. Any thread, also while another waits in ruvllm_call_next. */
RUVLLM_API void ruvllm_call_cancel(ruvllm_call* call);
/* Cancels what has not ended. Returns at once unless the model's handle was freed before. */
RUVLLM_API void ruvllm_call_free(ruvllm_call* call);

/* ---- Vectors of texts --------------------------------------------------------------------------
 */

/* A matrix of 32-bit floats with a row for each text, in their order, one row after the other.
   Immutable. */
typedef struct ruvllm_vectors ruvllm_vectors;

/* 64-byte aligned; valid until the vectors are freed. Null for null. */
RUVLLM_API const float* ruvllm_vectors_data(const ruvllm_vectors* vectors);
/* These are 0 for null. */
RUVLLM_API size_t ruvllm_vectors_rows(const ruvllm_vectors* vectors);
RUVLLM_API size_t ruvllm_vectors_columns(const ruvllm_vectors* vectors);
/* The tokens of all texts. */
RUVLLM_API int64_t ruvllm_vectors_n_tokens(const ruvllm_vectors* vectors);
RUVLLM_API void ruvllm_vectors_free(ruvllm_vectors* vectors);

/* The vectors of texts. `request` is the body of POST /v1/embeddings: {"input": ["a text",
   "another"]}. Fails: as ruvllm_call_next. */
RUVLLM_API ruvllm_status ruvllm_embed(ruvllm_model* model, const char* request,
                                      ruvllm_vectors** vectors, ruvllm_error** error);
/* Begins the same: ruvllm_call_next gives no data, only RUVLLM_END when all is computed. */
RUVLLM_API ruvllm_status ruvllm_embed_begin(ruvllm_model* model, const char* request,
                                            ruvllm_call** call, ruvllm_error** error);
/* What ruvllm_embed_begin has made, once, after RUVLLM_END. Fails: RUVLLM_INVALID at other times.
 */
RUVLLM_API ruvllm_status ruvllm_call_take_vectors(ruvllm_call* call, ruvllm_vectors** vectors,
                                                  ruvllm_error** error);

/* ---- A server in the same process --------------------------------------------------------------
 */

/* The HTTP server of `ruvllm serve`, in threads of its own. */
typedef struct ruvllm_server ruvllm_server;

/* Serves the model besides what others ask of it. Returns when it listens. `options`, optional, is
   a JSON object with any of:

     host           an address of this machine ["127.0.0.1"]
     port           0: any that is free [0]
     api_key        clients must send it
     no_key         true: other machines may use the server without a key
     allow_hosts    list of names by which it may be called
     cors_origins   list of web pages elsewhere that may read answers

   Fails: RUVLLM_INVALID (an option; an address that other machines reach, without a key),
   RUVLLM_UNAVAILABLE (the port is in use). */
RUVLLM_API ruvllm_status ruvllm_server_start(ruvllm_model* model, const char* options,
                                             ruvllm_server** server, ruvllm_error** error);
/* The port that was taken; 0 for null. */
RUVLLM_API uint16_t ruvllm_server_port(const ruvllm_server* server);
/* Ends the server and frees the handle. Answers that are being generated may end within five
   seconds, then they are cancelled; waits for that. */
RUVLLM_API void ruvllm_server_stop(ruvllm_server* server);

#ifdef __cplusplus
}
#endif

#endif
