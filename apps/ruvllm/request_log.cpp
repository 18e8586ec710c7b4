#include "request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"
#include "shown_text.h"

namespace ruv {
namespace {

// Lines that may wait, and their bytes: a line with contents may have many.
constexpr size_t kMaxWaiting = 8192;
constexpr size_t kMaxWaitingBytes = 64 << 20;
// A console shows at most this many characters of a path or a field's name.
constexpr size_t kMaxShown = 100;

int64_t unix_ms_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::time_t seconds_of(int64_t unix_ms) { return static_cast<std::time_t>(unix_ms / 1000); }

// Milliseconds with three decimals.
double rounded(double ms) { return std::round(ms * 1000) / 1000; }

// An existing file is made longer.
Result<AppendFile> open_file(const std::string& path) {
  Result<AppendFile> file = AppendFile::open(path);
  if (!file && file.error().code() == Code::not_found) return AppendFile::create(path);
  return file;
}

}  // namespace

std::string record_text(const RequestRecord& record, int64_t unix_ms) {
  const RequestNotes& notes = record.notes;
  std::string line = fmt::format("{:%H:%M:%S} {} {} {}", fmt::localtime(seconds_of(unix_ms)),
                                 shown_text(record.method, kMaxShown),
                                 shown_text(record.path, kMaxShown), record.status);
  if (record.is_cut) line += " (client left)";
  if (!notes.finish.empty()) line += fmt::format(" {}", notes.finish);
  if (notes.n_prompt_tokens > 0) {
    line += fmt::format(", {} + {} tokens", notes.n_prompt_tokens, notes.n_generated_tokens);
    if (notes.n_cached_tokens > 0) line += fmt::format(" ({} cached)", notes.n_cached_tokens);
  }
  line += fmt::format(", {:.0f} ms, {}", record.ms, record.id);
  for (const std::string& name : notes.ignored) {
    line += fmt::format(", ignored {}", shown_text(name, kMaxShown));
  }
  return line;
}

std::string record_json(const RequestRecord& record, int64_t unix_ms) {
  const RequestNotes& notes = record.notes;
  Json json = {{"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds_of(unix_ms)),
                                    unix_ms % 1000)},
               {"id", record.id},
               {"method", to_valid_utf8(record.method)},
               {"path", to_valid_utf8(record.path)},
               {"route", record.route},
               {"status", record.status},
               {"client_left", record.is_cut},
               {"ms", rounded(record.ms)}};
  if (!record.trace.empty()) json["trace_id"] = record.trace;
  if (!notes.model.empty()) {
    json["model"] = notes.model;
    json["prompt_tokens"] = notes.n_prompt_tokens;
    json["cached_tokens"] = notes.n_cached_tokens;
    json["generated_tokens"] = notes.n_generated_tokens;
    json["queue_ms"] = rounded(notes.queue_ms);
    json["prefill_ms"] = rounded(notes.prefill_ms);
    json["decode_ms"] = rounded(notes.decode_ms);
  }
  if (!notes.tenant.empty()) json["user"] = to_valid_utf8(notes.tenant);
  if (!notes.finish.empty()) json["finish"] = notes.finish;
  for (const std::string& name : notes.ignored) json["ignored"].push_back(to_valid_utf8(name));
  if (notes.contents) {
    json["prompts"] = notes.contents->prompts;
    json["answers"] = notes.contents->answers;
    json["contents_cut"] = notes.contents->is_cut;
  }
  return json.dump();
}

RequestLog::RequestLog(std::FILE* console, Form form, std::optional<AppendFile> file)
    : console_(console), form_(form), file_(std::move(file)), thread_([this] { work(); }) {}

Result<std::unique_ptr<RequestLog>> RequestLog::open(std::FILE* console, Form form,
                                                     const std::string& file) {
  std::optional<AppendFile> opened;
  if (!file.empty()) {
    Result<AppendFile> found = open_file(file);
    if (!found) return tl::unexpected(with_context("--log-file", found.error()));
    opened.emplace(std::move(*found));
  }
  return std::unique_ptr<RequestLog>(new RequestLog(console, form, std::move(opened)));
}

RequestLog::~RequestLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void RequestLog::add(const RequestRecord& record) {
  const int64_t now = unix_ms_now();
  Lines lines;
  if (console_ != nullptr) {
    lines.console = form_ == Form::json ? record_json(record, now) : record_text(record, now);
  }
  if (file_) lines.file = record_json(record, now);
  const size_t n_bytes = lines.console.size() + lines.file.size();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMaxWaiting || n_waiting_bytes_ + n_bytes > kMaxWaitingBytes) {
      ++n_lost_;
      return;
    }
    waiting_.push_back(std::move(lines));
    n_waiting_bytes_ += n_bytes;
  }
  wake_.notify_one();
}

// A full disk loses lines and nothing else.
void RequestLog::write(const std::deque<Lines>& lines) {
  std::string console, file;
  for (const Lines& line : lines) {
    console += line.console + "\n";
    file += line.file + "\n";
  }
  if (console_ != nullptr) {
    std::fwrite(console.data(), 1, console.size(), console_);
    std::fflush(console_);
  }
  if (file_) (void)file_->append({as_bytes(file)});
}

// Writes all that waits at once.
void RequestLog::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::deque<Lines> lines;
    lines.swap(waiting_);
    n_waiting_bytes_ = 0;
    const int64_t n_lost = std::exchange(n_lost_, 0);
    lock.unlock();
    if (n_lost > 0) {
      const std::string note = fmt::format("{{\"lost_lines\": {}}}", n_lost);
      lines.push_back({note, note});
    }
    write(lines);
    lock.lock();
  }
}

}  // namespace ruv
