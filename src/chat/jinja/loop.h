// For loops and the variable `loop`, which tells the position in the loop (loop.index, loop.last,
// loop.previtem, …). loop.last and loop.length need items beyond the current one; only templates
// that read them make the loop read ahead, so generators stay lazy otherwise.
#pragma once

#include <deque>

#include "chat/jinja/run.h"

namespace ruv::jinja {

class LoopObject final : public TemplateObject, public std::enable_shared_from_this<LoopObject> {
 public:
  // `value_depth` is the depth of the iterated value. `around` is the scope outside the loop.
  LoopObject(TemplateRun& run, const ForNode& node, DatumWalk walk, int value_depth,
             NameScope* around, int64_t depth)
      : run_(run),
        node_(node),
        walk_(std::move(walk)),
        value_depth_(value_depth),
        around_(around),
        depth_(depth) {}

  // Moves to the next item that passes the loop's condition; nothing at the end.
  Result<std::optional<Datum>> advance();
  // Ends the loop: drops values that may form a reference cycle with the loop itself.
  void close() {
    changed_.clear();
    closed_ = true;
  }

  std::string type_name() const override { return "LoopContext"; }
  std::optional<Datum> attribute(std::string_view name) const override;
  bool callable() const override { return true; }
  // loop(items): runs the body again, one level deeper. Fails: corrupt, when the loop is not
  // recursive.
  Result<Datum> call(TemplateRun& run, const CallArguments& arguments) override;
  // Needs all items, so it reads a generator to its end.
  std::optional<int64_t> length() const override;
  int depth() const override { return 1 + value_depth_; }

  // loop.cycle(a, b, …) and loop.changed(values).
  Result<Datum> cycle(const CallArguments& arguments) const;
  Result<Datum> changed(const CallArguments& arguments);

 private:
  // The next item for which the loop's condition holds.
  Result<std::optional<Datum>> next_passing();
  // Tries to hold n items beyond the current one; false when there are fewer.
  bool read_ahead(size_t n);

  TemplateRun& run_;
  const ForNode& node_;
  DatumWalk walk_;
  int value_depth_;
  NameScope* around_;
  int64_t depth_;
  int64_t index_ = -1;
  std::optional<Datum> before_, now_;
  std::deque<Datum> ahead_;  // read by loop.last, loop.nextitem or loop.length
  bool ended_ = false;
  Status ahead_error_;  // met while reading ahead; advance() returns it
  bool closed_ = false;
  std::shared_ptr<NameScope> condition_scope_;
  bool has_changed_value_ = false;
  std::vector<Datum> changed_;
};

// Runs a loop over `items` with its body in scopes under `around`.
Result<Flow> run_loop(TemplateRun& run, const ForNode& node, const Datum& items, NameScope* around,
                      int64_t depth);

}  // namespace ruv::jinja
