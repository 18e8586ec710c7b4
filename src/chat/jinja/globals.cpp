// The functions that every template sees: range, dict, namespace, cycler, joiner, raise_exception
// and strftime_now.
#include "chat/jinja/clock_text.h"
#include "chat/jinja/run.h"

namespace ruv::jinja {

namespace {

// The items are computed on demand, but their number is limited.
Result<Datum> range_function(const BuiltinCall& call) {
  int64_t start = 0;
  int64_t stop = TRY(call.integer(0, 0));
  if (call.has(1)) {
    start = stop;
    stop = TRY(call.integer(1, 0));
  }
  const int64_t step = TRY(call.integer(2, 1));
  if (step == 0) return fail(Code::corrupt, "range() arg 3 must not be zero");
  const auto first = static_cast<uint64_t>(start);
  const uint64_t distance =
      step > 0 ? static_cast<uint64_t>(stop) - first : first - static_cast<uint64_t>(stop);
  const uint64_t size = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t count = empty ? 0 : (distance - 1) / size + 1;
  if (count > static_cast<uint64_t>(kMaxRange))
    return fail(Code::invalid, "range() is limited to {} items", kMaxRange);
  TRY(call.meter().spend(static_cast<int64_t>(count)));
  std::vector<Datum> items;
  items.reserve(count);
  for (uint64_t i = 0; i < count; ++i)
    items.emplace_back(static_cast<int64_t>(first + i * static_cast<uint64_t>(step)));
  Datum out = TRY(make_sequence(SequenceKind::range, std::move(items), call.meter()));
  out.sequence()->start = start;
  out.sequence()->stop = stop;
  out.sequence()->step = step;
  return out;
}

// Calls set(key, value) for what dict(...) and namespace(...) are given.
template <class F>
Status each_given(const BuiltinCall& call, F&& set) {
  const CallArguments& given = call.arguments;
  if (given.positional.size() > 1) return fail(Code::corrupt, "at most one argument is expected");
  if (!given.positional.empty()) {
    const Datum& from = given.positional[0];
    if (from.is_undefined()) return fail(Code::corrupt, "{}", from.undefined_message());
    if (from.is(Datum::Kind::dict)) {
      for (const auto& [key, value] : from.dict()->entries()) TRY(set(key, value));
    } else {
      for (const Datum& pair : TRY(items_of(from, call.meter()))) {
        const std::vector<Datum> parts = TRY(items_of(pair, call.meter()));
        if (parts.size() != 2) return fail(Code::corrupt, "pairs of key and value are expected");
        TRY(set(parts[0], parts[1]));
      }
    }
  }
  for (const auto& [name, value] : given.named) TRY(set(given.name_text(name), value));
  return Status();
}

// dict(a=1) and dict(pairs).
Result<Datum> dict_function(const BuiltinCall& call) {
  auto dict = std::make_shared<DatumDict>();
  TRY(each_given(call, [&](const Datum& key, const Datum& value) {
    return dict->set(key, value, call.meter());
  }));
  return Datum(DictPtr(std::move(dict)));
}

Result<Datum> fromkeys_function(const BuiltinCall& call) {
  auto dict = std::make_shared<DatumDict>();
  const Datum value = call.has(1) ? *call.given[1] : Datum::none();
  for (Datum& key : TRY(items_of(*call.given[0], call.meter())))
    TRY(dict->set(std::move(key), value, call.meter()));
  return Datum(DictPtr(std::move(dict)));
}

Result<Datum> namespace_function(const BuiltinCall& call) {
  // A namespace lives until the run ends, so each one must cost steps.
  TRY(call.meter().spend(8));
  const std::shared_ptr<NamespaceObject> space = call.run.make_namespace();
  TRY(each_given(call, [&](const Datum& key, const Datum& value) {
    return space->set(key, value, call.meter());
  }));
  return Datum(ObjectPtr(space));
}

// raise_exception(message): the template refuses the conversation.
Result<Datum> raise_function(const BuiltinCall& call) {
  return fail(Code::invalid, "{}", TRY(call.text(0))->bytes());
}

// The current time in UTC, from the options of the rendering.
Result<Datum> strftime_function(const BuiltinCall& call) {
  const TextPtr format = TRY(call.text(0));
  if (format->size() > 1000) return fail(Code::invalid, "strftime_now: the format is too long");
  return Datum(
      MarkedText(TRY(clock_text(format->bytes(), call.run.now_unix_s())), format->any_from_user()));
}

// cycler(a, b, c): next() gives them in turn.
class CyclerObject final : public TemplateObject,
                           public std::enable_shared_from_this<CyclerObject> {
 public:
  // `items`: a tuple that is not empty.
  explicit CyclerObject(Datum items) : items_(std::move(items)) {}
  std::string type_name() const override { return "Cycler"; }
  int depth() const override { return 1 + depth_of(items_); }
  std::optional<Datum> attribute(std::string_view name) const override;
  Datum current() const { return items_.sequence()->items[at_]; }
  void advance() { at_ = (at_ + 1) % items_.sequence()->items.size(); }
  void reset() { at_ = 0; }

 private:
  Datum items_;
  size_t at_ = 0;
};

CyclerObject& cycler_of(const BuiltinCall& call) {
  return static_cast<CyclerObject&>(*call.subject.object());
}

Result<Datum> cycler_next(const BuiltinCall& call) {
  Datum current = cycler_of(call).current();
  cycler_of(call).advance();
  return current;
}

Result<Datum> cycler_reset(const BuiltinCall& call) {
  cycler_of(call).reset();
  return Datum::none();
}

constexpr BuiltinRow kCyclerNext = {"next", cycler_next};
constexpr BuiltinRow kCyclerReset = {"reset", cycler_reset};

Result<Datum> cycler_function(const BuiltinCall& call) {
  if (call.arguments.positional.empty())
    return fail(Code::corrupt, "at least one item has to be provided");
  Datum items = TRY(make_sequence(SequenceKind::tuple, call.arguments.positional, call.meter()));
  return Datum(ObjectPtr(std::make_shared<CyclerObject>(std::move(items))));
}

// joiner(", "): empty at its first call, the separator later.
class JoinerObject final : public TemplateObject {
 public:
  explicit JoinerObject(TextPtr separator) : separator_(std::move(separator)) {}
  std::string type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  std::optional<Datum> attribute(std::string_view name) const override {
    if (name == "sep") return Datum(separator_);
    if (name == "used") return Datum(used_);
    return std::nullopt;
  }
  Result<Datum> call(TemplateRun&, const CallArguments&) override {
    if (std::exchange(used_, true)) return Datum(separator_);
    return Datum::text("");
  }

 private:
  TextPtr separator_;
  bool used_ = false;
};

Result<Datum> joiner_function(const BuiltinCall& call) {
  return Datum(ObjectPtr(std::make_shared<JoinerObject>(TRY(call.text(0, ", ")))));
}

// Random filler text, which no prompt needs.
Result<Datum> lipsum_function(const BuiltinCall&) {
  return fail(Code::unsupported, "lipsum() is not supported");
}

constexpr BuiltinRow kGlobals[] = {
    {"cycler", cycler_function, 0, {"*"}},
    {"dict", dict_function, 0, {"*"}},
    {"dict.fromkeys", fromkeys_function, 1, {"iterable", "value"}},
    {"joiner", joiner_function, 0, {"sep"}},
    {"lipsum", lipsum_function, 0, {"*"}},
    {"namespace", namespace_function, 0, {"*"}},
    {"raise_exception", raise_function, 1, {"message"}},
    {"range", range_function, 1, {"start", "stop", "step"}},
    {"strftime_now", strftime_function, 1, {"format"}},
};

std::optional<Datum> CyclerObject::attribute(std::string_view name) const {
  if (name == "current") return current();
  if (name == "pos") return Datum(static_cast<int64_t>(at_));
  if (name == "items") return items_;
  auto self = std::const_pointer_cast<CyclerObject>(shared_from_this());
  if (name == "next")
    return Datum(ObjectPtr(std::make_shared<BoundFunction>(kCyclerNext, Datum(ObjectPtr(self)))));
  if (name == "reset")
    return Datum(ObjectPtr(std::make_shared<BoundFunction>(kCyclerReset, Datum(ObjectPtr(self)))));
  return std::nullopt;
}

}  // namespace

const BuiltinRow* find_global(std::string_view name) {
  for (const BuiltinRow& row : kGlobals)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace ruv::jinja
