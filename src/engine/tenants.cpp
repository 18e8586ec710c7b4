#include "engine/tenants.h"

#include <algorithm>
#include <limits>

#include "base/allocation.h"
#include "base/check.h"

namespace ruv {

// Reuses the index of a known tenant, or an unused one.
int32_t TenantLedger::open(std::string_view name) {
  auto known = indexes_.find(name);
  if (known == indexes_.end()) {
    if (unused_.empty()) {
      accounts_.emplace_back();
      views_.resize(accounts_.size());
      unused_.push_back(static_cast<int32_t>(accounts_.size()) - 1);
    }
    const int32_t tenant = unused_.back();
    unused_.pop_back();
    accounts_[static_cast<size_t>(tenant)] = {.name = std::string(name)};
    views_[static_cast<size_t>(tenant)] = {.max_pages = max_pages_};
    known = indexes_.emplace(name, tenant).first;
  } else if (accounts_[static_cast<size_t>(known->second)].n_requests == 0) {
    --n_idle_;
  }
  ++accounts_[static_cast<size_t>(known->second)].n_requests;
  return known->second;
}

void TenantLedger::close(int32_t tenant) {
  Account& account = accounts_[static_cast<size_t>(tenant)];
  CHECK(account.n_requests > 0);
  if (--account.n_requests > 0) return;
  if (++n_idle_ <= kMaxIdle) return;
  // Where memory runs out, the next one that ends tries again.
  (void)try_allocating([&] { forget_idle(); });
}

// A returning tenant is lifted to the minimum counter anyway, so dropping the half with the least
// service loses only what those tenants were ahead by.
void TenantLedger::forget_idle() {
  std::vector<int32_t> idle;
  idle.reserve(n_idle_);
  unused_.reserve(unused_.size() + n_idle_);
  for (const auto& [name, tenant] : indexes_) {
    if (accounts_[static_cast<size_t>(tenant)].n_requests == 0) idle.push_back(tenant);
  }
  const auto middle = idle.begin() + static_cast<std::ptrdiff_t>(idle.size() / 2);
  std::ranges::nth_element(
      idle, middle, {}, [&](int32_t tenant) { return views_[static_cast<size_t>(tenant)].served; });
  for (auto it = idle.begin(); it != middle; ++it) {
    indexes_.erase(accounts_[static_cast<size_t>(*it)].name);
    unused_.push_back(*it);
  }
  n_idle_ -= static_cast<size_t>(middle - idle.begin());
}

// Lifts the counter of a tenant that begins to queue.
void TenantLedger::queue(int32_t tenant, int64_t now_ms) {
  Account& account = accounts_[static_cast<size_t>(tenant)];
  if (account.n_queued++ > 0) return;
  account.unserved_since_ms = now_ms;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < accounts_.size(); ++i) {
    const bool other = i != static_cast<size_t>(tenant);
    if (other && accounts_[i].n_queued > 0) least = std::min(least, views_[i].served);
  }
  const double lift = least < std::numeric_limits<double>::infinity() ? least : served_of_last_;
  double& served = views_[static_cast<size_t>(tenant)].served;
  served = std::max(served, lift);
}

void TenantLedger::leave_queue(int32_t tenant) {
  Account& account = accounts_[static_cast<size_t>(tenant)];
  CHECK(account.n_queued > 0);
  if (--account.n_queued == 0) served_of_last_ = views_[static_cast<size_t>(tenant)].served;
}

// Charges the computed part of the prompt.
void TenantLedger::start(int32_t tenant, int64_t n_prompt, int64_t now_ms) {
  views_[static_cast<size_t>(tenant)].served += kPromptWeight * static_cast<double>(n_prompt);
  accounts_[static_cast<size_t>(tenant)].unserved_since_ms = now_ms;
  leave_queue(tenant);
}

void TenantLedger::generated(int32_t tenant, int64_t n_tokens) {
  views_[static_cast<size_t>(tenant)].served += kGeneratedWeight * static_cast<double>(n_tokens);
}

const std::vector<TenantView>& TenantLedger::views(int64_t now_ms) {
  for (size_t i = 0; i < views_.size(); ++i) {
    const Account& account = accounts_[i];
    views_[i].unserved_ms = account.n_queued > 0 ? now_ms - account.unserved_since_ms : 0;
  }
  return views_;
}

}  // namespace ruv
