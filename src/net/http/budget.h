// ServerBudget: limits and counts the memory that all requests take together. A request that does
// not fit is refused; nothing waits for room, so there are no deadlocks. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ruv {

// What the memory is used for. Each use has its own limit, so that none can starve the others.
enum class BudgetUse : uint8_t {
  bodies,   // bytes of received bodies, until their route is done with them
  parsing,  // what a route may need to parse its body: kParseBytesPerBodyByte for each byte
  answers,  // bytes of answers that clients have not read yet
  buffers,  // of connections: what was read and is not part of a body
};

// A body of JSON and what is made of it (values, texts, ids) take at most about this much memory
// for each of its bytes while a route works on it.
inline constexpr uint64_t kParseBytesPerBodyByte = 24;
// This much of an answer may always wait, whatever the others take: a client that reads is never
// given up because of clients that do not.
inline constexpr uint64_t kOwnAnswerBytes = 64 << 10;

struct BudgetLimits {
  uint64_t bodies = 128ULL << 20;
  uint64_t parsing = 512ULL << 20;
  uint64_t answers = 256ULL << 20;
  uint64_t buffers = 128ULL << 20;
};

// Any thread.
class ServerBudget {
 public:
  explicit ServerBudget(const BudgetLimits& limits)
      : limits_{limits.bodies, limits.parsing, limits.answers, limits.buffers} {}
  ServerBudget(const ServerBudget&) = delete;
  ServerBudget& operator=(const ServerBudget&) = delete;

  uint64_t taken(BudgetUse use) const { return taken_[index(use)]; }

 private:
  friend class BudgetShare;
  static constexpr size_t index(BudgetUse use) { return static_cast<size_t>(use); }
  // Adds n_bytes unless that would pass the limit. Lock-free.
  bool take(BudgetUse use, uint64_t n_bytes);
  void give_back(BudgetUse use, uint64_t n_bytes) { taken_[index(use)] -= n_bytes; }

  std::array<uint64_t, 4> limits_;
  std::array<std::atomic<uint64_t>, 4> taken_{};
};

// The part of a budget that one request holds; returned on destruction. Used by one thread at a
// time. The budget must outlive it.
class BudgetShare {
 public:
  BudgetShare(ServerBudget& budget, BudgetUse use) : budget_(&budget), use_(use) {}
  BudgetShare(BudgetShare&& other) noexcept
      : budget_(other.budget_), use_(other.use_), n_bytes_(std::exchange(other.n_bytes_, 0)) {}
  BudgetShare& operator=(BudgetShare&&) = delete;
  ~BudgetShare() { budget_->give_back(use_, n_bytes_); }

  // Sets the share to n_bytes. False, with nothing changed, when there is no room for more.
  bool resize(uint64_t n_bytes);
  uint64_t bytes() const { return n_bytes_; }

 private:
  ServerBudget* budget_;
  BudgetUse use_;
  uint64_t n_bytes_ = 0;
};

}  // namespace ruv
