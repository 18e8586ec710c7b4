// RecordIndex: the page records of a store, as the forest that their prefixes form. A record is
// useless without the pages before it; so removing a record removes its descendants, and using one
// uses its ancestors: no ancestor is ever older than a descendant.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cache/page_store_record.h"

namespace ruv {

// Not thread-safe: its store locks.
class RecordIndex {
 public:
  static constexpr int64_t kNone = -1;
  struct Place {
    uint32_t segment = 0;
    uint32_t slot = 0;
    bool has_state = false;
    bool operator==(const Place&) const = default;
  };
  struct Entry {
    PrefixHash prefix;
    Place place;
    uint64_t used = 0;  // tick of the last use
    int64_t parent = kNone;
    int64_t first_child = kNone;
    int64_t next = kNone;  // siblings
    int64_t previous = kNone;
  };

  RecordIndex();

  int64_t n_records() const { return static_cast<int64_t>(entries_.size()) - 1; }
  // Null when there is no such record. Valid until the next insert or remove.
  const Entry* find(int64_t id) const;
  // Adds a record. False: the id is taken, or the parent (a record, or kNone) does not exist.
  bool insert(int64_t id, int64_t parent, const PrefixHash& prefix, Place place);
  // The record's bytes are now at another place.
  void move(int64_t id, Place place);
  // Marks a record and its ancestors as used at `tick`. Stops at one used since, so that repeated
  // use is cheap.
  void touch(int64_t id, uint64_t tick);
  // Removes a record with its descendants and appends their ids to `removed`.
  void remove(int64_t id, std::vector<int64_t>& removed);

  struct Item {
    int64_t id;
    int64_t parent;
    PrefixHash prefix;
    Place place;
  };
  std::vector<Item> parents_first() const;

  struct Uses {
    uint64_t oldest = 0;
    uint64_t median = 0;  // half of the records at most were used after it
  };
  Uses uses() const;

 private:
  Entry& at(int64_t id) { return entries_.find(id)->second; }
  void unlink(int64_t id, const Entry& entry);

  // The entry kNone has the first pages as its children.
  std::unordered_map<int64_t, Entry> entries_;
};

}  // namespace ruv
