// Watermarks: when new requests are let in. Above `high` none is; they are again once the pages in
// use fell to `low`, so that admission does not flip with every page. Pure: the caller keeps the
// state.
#pragma once

#include <cstdint>

namespace ruv {

struct Watermarks {
  // Parts of all pages held by running sequences (PagePool::n_held; what can be evicted is not
  // in use). Requires: 0 <= low <= high.
  double low = 0.70;
  double high = 0.85;

  // Whether to admit now, given whether the last answer was yes.
  bool admits(bool admitting, int64_t n_held, int64_t n_pages) const {
    const double mark = static_cast<double>(n_pages) * (admitting ? high : low);
    return admitting ? static_cast<double>(n_held) < mark : static_cast<double>(n_held) <= mark;
  }
};

}  // namespace ruv
