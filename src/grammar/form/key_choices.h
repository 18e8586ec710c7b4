// KeyChoices: which keys may come next in an object. The same question comes several times before
// the key does, since tokens reach beyond the value before it: the latest answers are kept.
#pragma once

#include <array>
#include <vector>

#include "grammar/form/form_nodes.h"
#include "grammar/goal/goals.h"

namespace ruv {

class KeyChoices {
 public:
  // Keys of one kind, with their quotes.
  struct Keys {
    Language keys;
    uint32_t cell;  // 0: named keys; else the number of their cell + 1
  };

  // The keys that `formula` takes, of which those in `named` are named, without those that came.
  // Kinds of which none is left are left out. Valid until the next call; always of the same goals.
  const std::vector<Keys>& find(Goals& goals, Formula formula, Language came, Language named);

 private:
  struct Kept {
    Formula formula = Formula::no;
    Language came = Language::nothing;
    Language named = Language::nothing;
    bool is_used = false;
    std::vector<Keys> keys;
  };
  static std::vector<Keys> make(Goals& goals, Formula formula, Language came, Language named);

  std::array<Kept, 8> kept_;
  size_t oldest_ = 0;
};

}  // namespace ruv
