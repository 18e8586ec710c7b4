// verify_audit: reads a whole log and says what in it is not as it was written.
#pragma once

#include "audit/audit_store.h"

namespace ruv {

struct AuditFault {
  int64_t entry = 0;  // 0: a head
  int64_t head = 0;   // 0: no head
  std::string what;
};

struct AuditVerdict {
  int64_t n_heads = 0;
  int64_t n_entries = 0;           // that are there
  int64_t n_removed = 0;           // that are not, as the log itself says
  int64_t n_with_contents = 0;     // whose contents are there
  int64_t n_sealed = 0;            // whose contents are there, and no key opened them
  int64_t n_without_contents = 0;  // that have digests of contents, which are not there
  int64_t n_lost = 0;              // answers that the log says it does not have
  std::vector<AuditFault> faults;  // the first kMaxAuditFaults
  std::optional<AuditHead> last = {};
};
inline constexpr size_t kMaxAuditFaults = 100;

struct AuditExpectation {
  // The key that must have signed; unset: the log's own, which is
  // replaced, too, where the whole log is.
  std::optional<PublicKey> key = {};
  // The digest of a head that was seen earlier and must still be there; it shows that nothing up to
  // it was cut off.
  std::optional<Digest> head = {};
};

// `progress` is called with the share that was read. Fails: as Database::run. Faults are in
// the verdict.
Result<AuditVerdict> verify_audit(const AuditStore& store, const AuditExpectation& expectation = {},
                                  const std::function<void(double)>& progress = {});

}  // namespace ruv
