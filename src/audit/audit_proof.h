// A proof: that a log has an entry, for someone without the log. It has the entry, the digests
// beside its way to the root of its batch, and the signed head.
#pragma once

#include "audit/audit_store.h"
#include "base/json.h"

namespace ruv {

// Contents are in it where they are kept and `with_contents`. Fails: not_found, corrupt (the entry
// is not the one that was signed).
Result<Json> audit_proof(const AuditStore& store, int64_t entry, bool with_contents);

struct ProvenEntry {
  int64_t number = 0;
  int64_t head = 0;
  PublicKey key = {};  // that has signed
  Json body;
};
// Fails: corrupt, naming what does not fit: nothing is proven then. That the key is the right one
// is for the caller to know.
Result<ProvenEntry> check_proof(const Json& proof);

}  // namespace ruv
