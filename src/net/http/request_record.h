// RequestRecord: what a server knows of a request when its answer has ended, for logs and metrics.
// It has no keys, and contents only where the server was asked to note them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ruv {

// What was asked and written, as valid UTF-8.
struct RequestContents {
  std::vector<std::string> prompts = {};
  std::vector<std::string> answers = {};  // one for each choice
  bool is_cut = false;                    // not all of it is here
};

// What a route knows of its request.
struct RequestNotes {
  std::vector<std::string> ignored = {};  // fields that were dropped
  std::string model = {};                 // empty: the request uses none
  std::string tenant = {};
  std::string finish = {};  // of the first choice, or the code of the error
  int64_t n_prompt_tokens = 0;
  int64_t n_cached_tokens = 0;  // of the prompt
  int64_t n_generated_tokens = 0;
  double queue_ms = 0;
  double prefill_ms = 0;
  double decode_ms = 0;
  std::optional<RequestContents> contents = {};  // ServerParts::notes_contents
};

struct RequestRecord {
  std::string id = {};      // of the header X-Request-Id, or drawn
  std::string trace = {};   // the trace id of the header traceparent; empty: none
  std::string method = {};  // empty: its head could not be read
  std::string path = {};    // as sent, decoded
  std::string route = {};   // the path of the table's row; empty: no route takes it
  int status = 0;           // 0: nothing was answered
  bool is_cut = false;      // the client left before the end
  double ms = 0;            // from its first byte to the last of the answer
  RequestNotes notes = {};
};

}  // namespace ruv
