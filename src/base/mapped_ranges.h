// Mapped files that become shorter while they are mapped: touching a page that is gone raises
// SIGBUS, which ends a process. Here all mapped ranges are known, and a handler puts zeros in place
// of what is gone and marks the range, so that its reader can tell and give up.
#pragma once

#include "base/bytes.h"

namespace ruv {

struct MappedRange;

// From now on a SIGBUS inside a mapped file marks it as damaged instead of ending the process;
// others do what they did before. For programs: a library leaves signals alone.
void guard_mapped_files();

// Makes a range known; the pages after its end, up to a whole page, are its own.
MappedRange* add_mapped_range(Bytes bytes);
// Before it is unmapped. Requires: no thread reads it any more. Null is allowed.
void remove_mapped_range(MappedRange* range);
bool range_is_damaged(const MappedRange& range);

}  // namespace ruv
