#include "pool.h"

#include <utility>

namespace ruv_node {

void Pool::run(Task task) {
  std::list<std::thread> ended;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      tasks_.push_back(std::move(task));
      if (n_idle_ >= tasks_.size()) {
        wake_.notify_one();
      } else {
        start_thread();
      }
      ended.swap(ended_);
    }
  }
  for (std::thread& thread : ended) thread.join();
  if (task) task();
}

// With the lock. A task that gets no thread is taken back, as another thread might come to it late.
void Pool::start_thread() {
  try {
    threads_.emplace_back();
    threads_.back() = std::thread(&Pool::work, this, std::prev(threads_.end()));
  } catch (...) {
    threads_.pop_back();
    tasks_.pop_back();
    throw;
  }
}

void Pool::work(std::list<std::thread>::iterator self) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!tasks_.empty()) {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it has is destroyed without the lock
      lock.lock();
    } else if (stopping_ || n_idle_ == kMaxIdle) {
      break;
    } else {
      ++n_idle_;
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --n_idle_;
    }
  }
  ended_.splice(ended_.end(), threads_, self);
  wake_.notify_all();
}

// Threads that end move themselves to the list of those to be joined.
void Pool::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  wake_.wait(lock, [this] { return threads_.empty(); });
  std::list<std::thread> ended;
  ended.swap(ended_);
  lock.unlock();
  for (std::thread& thread : ended) thread.join();
}

}  // namespace ruv_node
