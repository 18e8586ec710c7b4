// next_model_move: which model is loaded or unloaded next. A pure function, so that its rules can
// be tested without models, threads or a clock.
//
// A request for a model that is not loaded waits. The longest waiting model is loaded when there is
// room. Until then the models that were not used for longest are unloaded: those without requests
// at once, else a model in use takes no new requests and is unloaded when its last request has
// ended. So a model that is always busy cannot keep others out. A model alone is loaded whatever
// its size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ruv {

struct ModelSlot {
  bool loaded = false;
  bool leaves = false;      // loaded, and takes no new requests
  int64_t n_bytes = 0;      // an estimate while it is not loaded
  int64_t n_users = 0;      // requests that use it
  int64_t n_waiting = 0;    // requests that wait until it is loaded
  int64_t first_waits = 0;  // the place of the first of these among all requests
  int64_t last_use = 0;     // unix seconds when it was loaded or its last request ended
  // Seconds without a request after which it is unloaded; none: it stays while there is room.
  std::optional<int64_t> keep = {};

  bool is_idle() const { return loaded && n_users == 0; }
};

struct ModelMove {
  enum class Kind {
    none,
    load,
    unload,
    leave,  // the model takes no new requests
  };
  Kind kind = Kind::none;
  size_t model = 0;
  // With `none`: unix seconds when there may be a move although nothing has happened.
  std::optional<int64_t> at = {};
};

// `max_bytes`: of all loaded models together. `now`: unix seconds.
ModelMove next_model_move(std::span<const ModelSlot> slots, int64_t max_bytes, int64_t now);

}  // namespace ruv
