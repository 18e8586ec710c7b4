// LeafOrder: the evictable ends of the prefix tree in memory, least valuable first: over all
// tenants, and optionally within each tenant. Changing an entry allocates nothing, so making room
// cannot fail. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

namespace ruv {

// A node with a page on which no page below depends. Ties in value are broken by age: the least
// recently used goes first.
struct TreeLeaf {
  int64_t value = 0;
  int64_t used = 0;
  int32_t node = 0;
  int64_t tenant = 0;

  bool operator<(const TreeLeaf& other) const {
    return std::tie(value, used, node) < std::tie(other.value, other.used, other.node);
  }
};

class LeafOrder {
 public:
  // by_tenant: also keep an order within each tenant. Costs a second tree of the same size; after()
  // needs it when a tenant is given.
  explicit LeafOrder(bool by_tenant) : by_tenant_(by_tenant) {}

  // Adds the leaf, or throws std::bad_alloc with nothing changed.
  void add(const TreeLeaf& leaf);
  // Replaces `old` by `now`. Requires: `old` is present.
  void replace(const TreeLeaf& old, const TreeLeaf& now) noexcept;
  void remove(const TreeLeaf& leaf) noexcept;

  // The first leaf above `at`, over all tenants or (tenant >= 0) within one. O(log n).
  std::optional<TreeLeaf> after(const TreeLeaf& at, int64_t tenant) const;
  bool contains(const TreeLeaf& leaf) const { return all_.contains(leaf); }
  int64_t size() const { return static_cast<int64_t>(all_.size()); }
  bool by_tenant() const { return by_tenant_; }

 private:
  struct TenantFirst {
    bool operator()(const TreeLeaf& a, const TreeLeaf& b) const {
      return a.tenant != b.tenant ? a.tenant < b.tenant : a < b;
    }
  };
  bool by_tenant_;
  std::set<TreeLeaf> all_;
  std::set<TreeLeaf, TenantFirst> of_tenants_;  // the same leaves; empty unless by_tenant
};

}  // namespace ruv
