// Detached: work that a request began and that continues when the request was answered, as the
// server sees it. Used on the network thread.
#pragma once

#include <functional>
#include <memory>

#include "net/http/request_record.h"

namespace ruv {

class Detached {
 public:
  virtual ~Detached() = default;
  // `action` is called once, when the server stops and has waited long enough: the work must have
  // ended when it returns.
  virtual void on_stop(std::function<void()> action) = 0;
  // The work is over: it is reported with these notes, and the key of its request pays for what it
  // used. Once.
  virtual void end(const RequestNotes& notes) = 0;
};

// What begins such work for the request that it answers.
class DetachHost {
 public:
  virtual ~DetachHost() = default;
  virtual std::unique_ptr<Detached> detach() = 0;
};

}  // namespace ruv
