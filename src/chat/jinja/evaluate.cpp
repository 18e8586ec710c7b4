// Expressions: each node evaluates its parts and combines them.
#include <algorithm>

#include "chat/jinja/letters.h"
#include "chat/jinja/run.h"
#include "chat/jinja/whole_number.h"

namespace ruv::jinja {

Result<Datum> NameNode::evaluate(TemplateRun& run) const { return run.lookup(name); }

Result<Datum> SequenceNode::evaluate(TemplateRun& run) const {
  std::vector<Datum> values;
  values.reserve(items.size());
  for (const ExprPtr& item : items) values.push_back(TRY(run.evaluate(*item)));
  return make_sequence(kind, std::move(values), run.meter());
}

Result<Datum> DictNode::evaluate(TemplateRun& run) const {
  auto dict = std::make_shared<DatumDict>();
  for (const auto& [key, value] : entries) {
    Datum k = TRY(run.evaluate(*key));
    TRY(dict->set(std::move(k), TRY(run.evaluate(*value)), run.meter()));
  }
  return Datum(DictPtr(std::move(dict)));
}

Result<Datum> ConditionalNode::evaluate(TemplateRun& run) const {
  for (size_t i = conditions.size(); i-- > 0;) {
    if (is_true(TRY(run.evaluate(*conditions[i])))) continue;
    if (otherwise && i + 1 == conditions.size()) return run.evaluate(*otherwise);
    return Datum::undefined(
        "the inline if-expression evaluated to false and no else section was defined");
  }
  return run.evaluate(*value);
}

// Returns the deciding operand itself, as Python does.
Result<Datum> LogicNode::evaluate(TemplateRun& run) const {
  for (size_t i = 0; i + 1 < operands.size(); ++i) {
    Datum value = TRY(run.evaluate(*operands[i]));
    if (is_true(value) != is_and) return value;
  }
  return run.evaluate(*operands.back());
}

Result<Datum> NotNode::evaluate(TemplateRun& run) const {
  return Datum(!is_true(TRY(run.evaluate(*operand))));
}

Result<Datum> SignNode::evaluate(TemplateRun& run) const {
  return signed_number(TRY(run.evaluate(*operand)), negative, run.meter());
}

Result<Datum> MathNode::evaluate(TemplateRun& run) const {
  Datum value = TRY(run.evaluate(*first));
  for (const auto& [op, node] : others) {
    const Datum right = TRY(run.evaluate(*node));
    value = TRY(arithmetic(op, value, right, run.meter()));
  }
  return value;
}

// Every operand is evaluated at most once.
Result<Datum> CompareNode::evaluate(TemplateRun& run) const {
  Datum left = TRY(run.evaluate(*first));
  for (const auto& [op, node] : others) {
    Datum right = TRY(run.evaluate(*node));
    if (!TRY(compare(op, left, right, run.meter()))) return Datum(false);
    left = std::move(right);
  }
  return Datum(true);
}

Result<Datum> JoinNode::evaluate(TemplateRun& run) const {
  MarkedText out;
  for (const ExprPtr& operand : operands) {
    const TextPtr text = TRY(text_of(TRY(run.evaluate(*operand)), run.meter()));
    TRY(run.meter().spend_text(out.size() + text->size()));
    out.append(*text);
  }
  return Datum(std::move(out));
}

Result<Datum> CapturedNode::evaluate(TemplateRun& run) const { return run.captured_text; }

// Applies the steps from left to right; errors get the step's position.
Result<Datum> PostfixNode::evaluate(TemplateRun& run) const {
  Datum value = TRY(run.evaluate(*subject));
  for (const StepPtr& step : steps) {
    TRY(run.meter().spend());
    Result<Datum> next = step->apply(run, value);
    if (!next) return tl::unexpected<Status>(run.placed(step->place, std::move(next.error())));
    value = std::move(*next);
  }
  return value;
}

Result<Datum> AttributeStep::apply(TemplateRun& run, const Datum& subject) const {
  return attribute_of(run, subject, name);
}

Result<Datum> ItemStep::apply(TemplateRun& run, const Datum& subject) const {
  return item_of(run, subject, TRY(run.evaluate(*index)));
}

Result<Datum> CallStep::apply(TemplateRun& run, const Datum& subject) const {
  return run.call(subject, TRY(run.evaluate_arguments(arguments)));
}

Result<Datum> FilterStep::apply(TemplateRun& run, const Datum& subject) const {
  if (!filter) return fail(Code::unsupported, "no filter named '{}'", name);
  return call_builtin(*filter, run, subject, TRY(run.evaluate_arguments(arguments)));
}

Result<Datum> TestStep::apply(TemplateRun& run, const Datum& subject) const {
  if (!test) return fail(Code::unsupported, "no test named '{}'", name);
  const Datum answer =
      TRY(call_builtin(*test, run, subject, TRY(run.evaluate_arguments(arguments))));
  return Datum(is_true(answer) != negated);
}

namespace {

// Python's slice bounds for a sequence of n items.
struct SliceBounds {
  int64_t start, stop, stride, count;
};

// The indices of a slice as values; none where left out.
struct SliceIndices {
  Datum start, stop, stride;
};

Result<SliceIndices> slice_indices(TemplateRun& run, const SliceStep& slice) {
  const auto value_of_index = [&](const ExprPtr& node) -> Result<Datum> {
    if (!node) return Datum::none();
    return run.evaluate(*node);
  };
  SliceIndices out;
  out.start = TRY(value_of_index(slice.start));
  out.stop = TRY(value_of_index(slice.stop));
  out.stride = TRY(value_of_index(slice.stride));
  return out;
}

std::optional<int64_t> index_of(const Datum& value) {
  if (value.is_none()) return std::nullopt;
  return clamped_bound(value);
}

// A bound of a slice: negative ones count from the end, and all are clamped to the sequence.
int64_t clamped(std::optional<int64_t> given, int64_t fallback, int64_t n, bool backwards) {
  if (!given) return fallback;
  int64_t at = *given;
  if (at < 0) at = std::max<int64_t>(at + n, backwards ? -1 : 0);
  return std::min(at, backwards ? n - 1 : n);
}

Result<SliceBounds> slice_bounds(const SliceIndices& slice, int64_t n) {
  const auto start = index_of(slice.start);
  const auto stop = index_of(slice.stop);
  const int64_t stride = index_of(slice.stride).value_or(1);
  if (stride == 0) return fail(Code::corrupt, "slice step cannot be zero");
  const bool backwards = stride < 0;
  SliceBounds out{clamped(start, backwards ? n - 1 : 0, n, backwards),
                  clamped(stop, backwards ? -1 : n, n, backwards), stride, 0};
  const int64_t distance = backwards ? out.start - out.stop : out.stop - out.start;
  const uint64_t size =
      backwards ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
  if (distance > 0)
    out.count = static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / size) + 1;
  return out;
}

// Slices characters, not bytes.
Result<Datum> slice_text(TemplateRun& run, const MarkedText& text, const SliceIndices& slice) {
  TRY(run.meter().spend_text(text.size()));
  if (ascii_prefix(text.bytes()) == text.size()) {
    const SliceBounds bounds = TRY(slice_bounds(slice, static_cast<int64_t>(text.size())));
    if (bounds.stride == 1) {
      const auto begin = static_cast<size_t>(std::max<int64_t>(bounds.start, 0));
      MarkedText out = text.slice(begin, begin + static_cast<size_t>(bounds.count));
      out.html_safe = text.html_safe;
      return Datum(std::move(out));
    }
  }
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); at = byte_of_character(text.bytes(), 1, at))
    starts.push_back(at);
  const auto n = static_cast<int64_t>(starts.size());
  starts.push_back(text.size());
  const SliceBounds bounds = TRY(slice_bounds(slice, n));
  MarkedText out;
  if (bounds.stride == 1 && bounds.count > 0) {
    out = text.slice(starts[static_cast<size_t>(bounds.start)],
                     starts[static_cast<size_t>(bounds.stop)]);
  } else {
    for (int64_t i = 0; i < bounds.count; ++i) {
      const auto at = static_cast<size_t>(bounds.start + i * bounds.stride);
      out.append_slice(text, starts[at], starts[at + 1]);
    }
  }
  out.html_safe = text.html_safe;
  return Datum(std::move(out));
}

Result<Datum> slice_sequence(TemplateRun& run, const DatumSequence& from,
                             const SliceIndices& slice) {
  const SliceBounds bounds = TRY(slice_bounds(slice, static_cast<int64_t>(from.items.size())));
  std::vector<Datum> items;
  for (int64_t i = 0; i < bounds.count; ++i)
    items.push_back(from.items[static_cast<size_t>(bounds.start + i * bounds.stride)]);
  const SequenceKind kind = from.kind == SequenceKind::group ? SequenceKind::tuple : from.kind;
  Datum out = TRY(make_sequence(kind, std::move(items), run.meter(), from.from_user));
  if (kind == SequenceKind::range) {
    // Only printed; wrapping keeps hostile steps from undefined behaviour.
    const auto start = static_cast<uint64_t>(from.start);
    const auto step = static_cast<uint64_t>(from.step);
    const auto at = [&](int64_t i) {
      return static_cast<int64_t>(start + static_cast<uint64_t>(i) * step);
    };
    out.sequence()->start = at(bounds.start);
    out.sequence()->stop = at(bounds.stop);
    out.sequence()->step = static_cast<int64_t>(step * static_cast<uint64_t>(bounds.stride));
  }
  return out;
}

}  // namespace

Result<Datum> SliceStep::apply(TemplateRun& run, const Datum& subject) const {
  if (subject.is_undefined()) return fail(Code::corrupt, "{}", subject.undefined_message());
  const SliceIndices indices = TRY(slice_indices(run, *this));
  for (const Datum* index : {&indices.start, &indices.stop, &indices.stride}) {
    if (!index->is_none() && !index->is_whole())
      return fail(Code::corrupt, "slice indices must be integers or None, not {}",
                  type_name(*index));
  }
  if (subject.is_text()) return slice_text(run, *subject.text(), indices);
  if (subject.is(Datum::Kind::sequence) && subject.sequence()->is_indexable())
    return slice_sequence(run, *subject.sequence(), indices);
  return fail(Code::corrupt, "'{}' object cannot be sliced", type_name(subject));
}

}  // namespace ruv::jinja
