// RequestLog: a line for each request that a server has answered. Writing never holds up the
// network thread: lines go to a thread of their own, and where that is too slow they are counted
// instead. Contents of requests and answers are in lines of JSON only, where the records have them.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/append_file.h"
#include "base/result.h"
#include "net/http/request_record.h"

namespace ruv {

class RequestLog {
 public:
  enum class Form {
    text,  // "12:34:56 POST /v1/chat/completions 200, 35 + 128 tokens, 1234 ms, req-…"
    json,  // one object a line
  };
  // Both may be null or empty: nothing is written there. The file is JSON and is appended to.
  // Fails: the file cannot be opened.
  static Result<std::unique_ptr<RequestLog>> open(std::FILE* console, Form form,
                                                  const std::string& file);
  // Writes what waits.
  ~RequestLog();
  void add(const RequestRecord& record);

 private:
  RequestLog(std::FILE* console, Form form, std::optional<AppendFile> file);
  // A line for each place.
  struct Lines {
    std::string console, file;
  };
  void work();
  void write(const std::deque<Lines>& lines);

  std::FILE* const console_;
  const Form form_;
  std::optional<AppendFile> file_;  // used by the thread
  std::mutex mutex_;                // guards all below
  std::condition_variable wake_;
  std::deque<Lines> waiting_;
  size_t n_waiting_bytes_ = 0;
  int64_t n_lost_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// The forms of a line; `unix_ms` is when the answer ended.
std::string record_text(const RequestRecord& record, int64_t unix_ms);
std::string record_json(const RequestRecord& record, int64_t unix_ms);

}  // namespace ruv
