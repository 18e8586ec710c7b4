// Generators: the values of filters that work on one item at a time, as Python's do.
#include <algorithm>

#include "chat/jinja/filters.h"

namespace ruv::jinja {

KeptCall::KeptCall(const BuiltinCall& from)
    : subject(from.subject), arguments(from.arguments), call{from.run, subject, arguments} {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!from.has(i)) continue;
    values[i] = *from.given[i];
    call.given[i] = &values[i];
  }
}

Result<Datum> make_generator(const BuiltinCall& call,
                             Result<DrawItem> (*begin)(const BuiltinCall& call)) {
  Datum generator = TRY(make_sequence(SequenceKind::generator, {}, call.meter()));
  int depth = depth_of(call.subject);
  for (const Datum& value : call.arguments.positional) depth = std::max(depth, depth_of(value));
  for (const auto& entry : call.arguments.named) depth = std::max(depth, depth_of(entry.second));
  if (depth >= kMaxValueDepth)
    return fail(Code::invalid, "values are nested deeper than {}", kMaxValueDepth);
  DatumSequence& sequence = *generator.sequence();
  sequence.depth = depth + 1;
  sequence.draw = [kept = std::make_shared<KeptCall>(call), begin,
                   draw = DrawItem()]() mutable -> Result<std::optional<Datum>> {
    TRY(kept->call.meter().spend());
    if (!draw) draw = TRY(begin(kept->call));
    return draw();
  };
  return generator;
}

DrawItem draw_all(std::vector<Datum> items) {
  return [items = std::move(items), at = size_t{0}]() mutable -> Result<std::optional<Datum>> {
    if (at >= items.size()) return std::optional<Datum>();
    return std::optional(items[at++]);
  };
}

}  // namespace ruv::jinja
