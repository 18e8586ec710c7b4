#include "cache/leaf_order.h"

#include "base/allocation.h"
#include "base/check.h"

namespace ruv {
namespace {

// Moves an element of a set together with its memory, so nothing is allocated.
template <class Set>
void move_element(Set& set, const TreeLeaf& old, const TreeLeaf& now) noexcept {
  auto element = set.extract(old);
  CHECK(!element.empty());
  element.value() = now;
  CHECK(set.insert(std::move(element)).inserted);
}

}  // namespace

// If the second set throws, the first one is undone.
void LeafOrder::add(const TreeLeaf& leaf) {
  const auto [at, added] = all_.insert(leaf);
  CHECK(added);
  if (!by_tenant_) return;
  Undo undo([&, at = at] { all_.erase(at); });
  of_tenants_.insert(leaf);
  undo.keep();
}

void LeafOrder::replace(const TreeLeaf& old, const TreeLeaf& now) noexcept {
  move_element(all_, old, now);
  if (by_tenant_) move_element(of_tenants_, old, now);
}

void LeafOrder::remove(const TreeLeaf& leaf) noexcept {
  CHECK(all_.erase(leaf) == 1);
  if (by_tenant_) of_tenants_.erase(leaf);
}

// Within a tenant, the order is by tenant first.
std::optional<TreeLeaf> LeafOrder::after(const TreeLeaf& at, int64_t tenant) const {
  if (tenant < 0) {
    const auto next = all_.upper_bound(at);
    return next == all_.end() ? std::nullopt : std::optional(*next);
  }
  CHECK(by_tenant_);
  TreeLeaf from = at;
  from.tenant = tenant;
  const auto next = of_tenants_.upper_bound(from);
  if (next == of_tenants_.end() || next->tenant != tenant) return std::nullopt;
  return *next;
}

}  // namespace ruv
