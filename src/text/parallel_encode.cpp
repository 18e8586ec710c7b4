// Stretches wait in a list that only grows; a counter hands them out in order.
#include "text/parallel_encode.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/threads.h"

namespace ruv {
namespace {

constexpr size_t kStretchBytes = size_t{1} << 15;

struct Stretch {
  std::vector<Word> words;
  std::vector<Token> ids;
  std::vector<TokenSpan> spans;
  TokenSink sink{nullptr};
};

class Stretches {
 public:
  Stretches(const WordWork& work, const TokenSink& sink) : work_(work), whole_(sink) {}

  // Cuts the text; returns when all of it is cut or a thread failed.
  void cut() {
    size_t at = 0;
    std::vector<Word> words;
    std::vector<Word> gathered;
    size_t n_bytes = 0;
    while (!failed() && work_.next_words(at, words)) {
      gathered.insert(gathered.end(), words.begin(), words.end());
      n_bytes += words.back().end - words.front().begin;
      if (n_bytes < kStretchBytes) continue;
      add(std::move(gathered));
      gathered.clear();
      n_bytes = 0;
    }
    if (!gathered.empty()) add(std::move(gathered));
    finish(nullptr);
  }
  // Encodes stretches until none will come.
  void encode() {
    while (Stretch* next = take()) {
      work_.encode(next->words, next->sink);
      next->words = {};
    }
  }
  // No more stretches come; of several failures the first is kept.
  void finish(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      if (failure != nullptr && failure_ == nullptr) failure_ = std::move(failure);
    }
    changed_.notify_all();
  }
  void send(TokenSink& sink) {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    for (Stretch& stretch : stretches_) {
      sink.take(stretch.sink);
      stretch.ids = {};
      stretch.spans = {};
    }
  }

 private:
  bool failed() {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }
  void add(std::vector<Word> words) {
    {
      const std::lock_guard lock(mutex_);
      Stretch& stretch = stretches_.emplace_back();
      stretch.words = std::move(words);
      stretch.sink = whole_.part(stretch.ids, stretch.spans);
    }
    changed_.notify_one();
  }
  Stretch* take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ < stretches_.size() || done_; });
    const bool none = next_ == stretches_.size() || failure_ != nullptr;
    return none ? nullptr : &stretches_[next_++];
  }

  const WordWork& work_;
  const TokenSink& whole_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Stretch> stretches_;  // a deque, so that they stay where they are
  size_t next_ = 0;
  bool done_ = false;
  std::exception_ptr failure_;
};

template <class F>
void guarded(Stretches& stretches, const F& f) {
  try {
    f();
  } catch (...) {
    stretches.finish(std::current_exception());
  }
}

}  // namespace

int threads_for(size_t n_bytes, const TokenSink& sink) {
  if (n_bytes < kParallelBytes) return 1;
  return sink.thread_limit() > 0 ? sink.thread_limit() : available_cores();
}

void parallel_encode(const WordWork& work, int n_threads, TokenSink& sink) {
  Stretches stretches(work, sink);
  std::vector<std::thread> threads;
  guarded(stretches, [&] {
    for (int i = 1; i < n_threads; ++i) {
      threads.emplace_back([&] { guarded(stretches, [&] { stretches.encode(); }); });
    }
    stretches.cut();
    stretches.encode();
  });
  for (std::thread& thread : threads) thread.join();
  stretches.send(sink);
}

}  // namespace ruv
