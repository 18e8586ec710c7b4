// Items are drawn one by one, so that a condition sees what the body changed before, as in Jinja.
#include "chat/jinja/loop.h"

namespace ruv::jinja {

namespace {

// loop.cycle and loop.changed, as callable values.
class LoopMethod final : public TemplateObject {
 public:
  LoopMethod(std::shared_ptr<LoopObject> loop, bool is_cycle)
      : loop_(std::move(loop)), is_cycle_(is_cycle) {}
  std::string type_name() const override { return "method"; }
  bool callable() const override { return true; }
  int depth() const override { return 1 + loop_->depth(); }
  Result<Datum> call(TemplateRun&, const CallArguments& arguments) override {
    return is_cycle_ ? loop_->cycle(arguments) : loop_->changed(arguments);
  }

 private:
  std::shared_ptr<LoopObject> loop_;
  bool is_cycle_;
};

}  // namespace

Result<std::optional<Datum>> LoopObject::next_passing() {
  while (std::optional<Datum> item = TRY(walk_.next())) {
    TRY(run_.meter().spend());
    if (!node_.condition) return item;
    const bool passes = TRY(run_.scoped(around_, condition_scope_, [&]() -> Result<bool> {
      TRY(run_.assign(node_.target, *item));
      return is_true(TRY(run_.evaluate(*node_.condition)));
    }));
    if (passes) return item;
  }
  return std::nullopt;
}

// Errors of items read ahead are kept until the loop reaches them.
bool LoopObject::read_ahead(size_t n) {
  while (!ended_ && ahead_.size() < n) {
    Result<std::optional<Datum>> item = next_passing();
    if (item && *item) {
      ahead_.push_back(std::move(**item));
      continue;
    }
    ended_ = true;
    if (!item) ahead_error_ = std::move(item.error());
  }
  return ahead_.size() >= n;
}

Result<std::optional<Datum>> LoopObject::advance() {
  before_ = std::move(now_);
  now_.reset();
  if (!read_ahead(1)) {
    if (!ahead_error_.ok()) return tl::unexpected<Status>(ahead_error_);
    return std::nullopt;
  }
  now_ = std::move(ahead_.front());
  ahead_.pop_front();
  ++index_;
  return now_;
}

std::optional<int64_t> LoopObject::length() const {
  auto& self = const_cast<LoopObject&>(*this);
  self.read_ahead(SIZE_MAX);
  return index_ + 1 + static_cast<int64_t>(ahead_.size());
}

// index, index0, revindex, first, last, length, previtem, nextitem, depth, …
std::optional<Datum> LoopObject::attribute(std::string_view name) const {
  auto& self = const_cast<LoopObject&>(*this);
  if (name == "index0") return Datum(index_);
  if (name == "index") return Datum(index_ + 1);
  if (name == "first") return Datum(index_ == 0);
  if (name == "last") return Datum(!self.read_ahead(1));
  if (name == "length") return Datum(*length());
  if (name == "revindex") return Datum(*length() - index_);
  if (name == "revindex0") return Datum(*length() - index_ - 1);
  if (name == "depth0") return Datum(depth_);
  if (name == "depth") return Datum(depth_ + 1);
  if (name == "previtem")
    return index_ > 0 && before_ ? *before_ : Datum::undefined("there is no previous item");
  if (name == "nextitem")
    return self.read_ahead(1) ? ahead_.front() : Datum::undefined("there is no next item");
  if (name == "cycle" || name == "changed")
    return Datum(ObjectPtr(std::make_shared<LoopMethod>(self.shared_from_this(), name == "cycle")));
  return std::nullopt;
}

Result<Datum> LoopObject::cycle(const CallArguments& arguments) const {
  const std::vector<Datum>& choices = arguments.positional;
  if (choices.empty()) return fail(Code::corrupt, "no items for cycling given");
  return choices[static_cast<size_t>(std::max<int64_t>(index_, 0)) % choices.size()];
}

Result<Datum> LoopObject::changed(const CallArguments& arguments) {
  bool same = has_changed_value_ && changed_.size() == arguments.positional.size();
  for (size_t i = 0; same && i < changed_.size(); ++i)
    same = TRY(equal(changed_[i], arguments.positional[i], run_.meter()));
  if (!same) changed_ = arguments.positional;
  has_changed_value_ = true;
  return Datum(!same);
}

Result<Datum> LoopObject::call(TemplateRun& run, const CallArguments& arguments) {
  if (!node_.recursive)
    return fail(Code::corrupt,
                "the loop must have the 'recursive' marker to be called recursively");
  if (closed_) return fail(Code::corrupt, "the loop has ended");
  if (arguments.positional.size() != 1) return fail(Code::corrupt, "loop() takes one argument");
  return Datum(TRY(run.captured([&]() -> Status {
    TRY(run_loop(run, node_, arguments.positional[0], around_, depth_ + 1));
    return Status();
  })));
}

// One scope per iteration, whose memory is reused unless a macro keeps it.
Result<Flow> run_loop(TemplateRun& run, const ForNode& node, const Datum& items, NameScope* around,
                      int64_t depth) {
  DatumWalk walk = TRY(DatumWalk::over(items, run.meter()));
  const auto loop =
      std::make_shared<LoopObject>(run, node, std::move(walk), depth_of(items), around, depth);
  // Jinja runs the else part unless some pass reaches the body's end.
  bool completed = false;
  std::shared_ptr<NameScope> scope;
  const auto iterations = [&]() -> Result<Flow> {
    while (const std::optional<Datum> item = TRY(loop->advance())) {
      const Flow flow = TRY(run.scoped(around, scope, [&]() -> Result<Flow> {
        run.set(run.program().loop, Datum(ObjectPtr(loop)));
        TRY(run.assign(node.target, *item));
        return run.execute(node.body);
      }));
      if (flow == Flow::break_loop) break;
      completed |= flow == Flow::next;
    }
    return Flow::next;
  };
  Result<Flow> flow = iterations();
  loop->close();
  if (!flow || completed) return flow;
  return run.scoped(around, [&] { return run.execute(node.otherwise); });
}

}  // namespace ruv::jinja
