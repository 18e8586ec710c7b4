// Reaching into values: items, attributes, and walking over them.
#include "base/utf8.h"
#include "chat/jinja/letters.h"
#include "chat/jinja/run.h"

namespace ruv::jinja {

// Prepares the items: keys of a dict, characters of a text.
Result<DatumWalk> DatumWalk::over(const Datum& value, RenderMeter& meter) {
  DatumWalk walk;
  switch (value.kind()) {
    case Datum::Kind::sequence:
      walk.sequence_ = value.sequence();
      return walk;
    case Datum::Kind::undefined:
      walk.sequence_ = std::make_shared<DatumSequence>();
      return walk;
    case Datum::Kind::dict: {
      walk.sequence_ = std::make_shared<DatumSequence>();
      TRY(meter.spend(static_cast<int64_t>(value.dict()->size())));
      for (const auto& entry : value.dict()->entries())
        walk.sequence_->items.push_back(entry.first);
      return walk;
    }
    case Datum::Kind::text: {
      walk.sequence_ = std::make_shared<DatumSequence>();
      const MarkedText& text = *value.text();
      // A text of one character costs far more memory than the character.
      TRY(meter.spend(4 * static_cast<int64_t>(text.size())));
      for (size_t at = 0; at < text.size();) {
        const size_t end = at + decode_utf8(text.bytes(), at).size;
        walk.sequence_->items.emplace_back(text.slice(at, end));
        at = end;
      }
      return walk;
    }
    default:
      return fail(Code::corrupt, "'{}' object is not iterable", type_name(value));
  }
}

Result<std::optional<Datum>> DatumWalk::next() {
  if (sequence_->draw) {
    if (sequence_->drawing) return fail(Code::corrupt, "generator already executing");
    sequence_->drawing = true;
    Result<std::optional<Datum>> item = sequence_->draw();
    sequence_->drawing = false;
    return item;
  }
  size_t& at = sequence_->kind == SequenceKind::generator ? sequence_->taken : at_;
  if (at >= sequence_->items.size()) return std::optional<Datum>();
  return std::optional(sequence_->items[at++]);
}

std::optional<size_t> DatumWalk::size() const {
  if (sequence_->kind == SequenceKind::generator) return std::nullopt;
  return sequence_->items.size();
}

Result<std::vector<Datum>> items_of(const Datum& value, RenderMeter& meter) {
  DatumWalk walk = TRY(DatumWalk::over(value, meter));
  std::vector<Datum> items;
  while (std::optional<Datum> item = TRY(walk.next())) {
    TRY(meter.spend());
    items.push_back(std::move(*item));
  }
  return items;
}

namespace {

std::string described(const Datum& value) {
  return value.is_none() ? "None" : type_name(value) + " object";
}

Result<std::optional<Datum>> range_bound(const DatumSequence& range, std::string_view name) {
  if (name == "start") return std::optional(Datum(range.start));
  if (name == "stop") return std::optional(Datum(range.stop));
  if (name == "step") return std::optional(Datum(range.step));
  return std::optional<Datum>();
}

// What Python has under that name, or nothing; one that may not be called is undefined. Fails:
// unsupported (Python has it and we lack it).
Result<std::optional<Datum>> method_of(TemplateRun& run, const Datum& subject,
                                       std::string_view name) {
  const BuiltinRow* row = nullptr;
  if (subject.is_text()) row = find_text_method(name);
  if (subject.is(Datum::Kind::dict)) row = find_dict_method(name);
  if (subject.is(Datum::Kind::sequence) && subject.sequence()->is_indexable())
    row = find_sequence_method(*subject.sequence(), name);
  if (row) return std::optional(Datum(ObjectPtr(std::make_shared<BoundFunction>(*row, subject))));
  if (subject.is_number()) {
    if (std::optional<Datum> part = TRY(number_attribute(subject, name, run.meter()))) return part;
  }
  if (is_mutating_method(subject, name))
    return std::optional(Datum::undefined(fmt::format(
        "access to attribute '{}' of '{}' object is unsafe", name, type_name(subject))));
  if (is_unsupported_attribute(subject, name))
    return fail(Code::unsupported, "the attribute '{}' of '{}' is not supported", name,
                type_name(subject));
  if (subject.is(Datum::Kind::object)) return subject.object()->attribute(name);
  if (subject.is(Datum::Kind::sequence) && subject.sequence()->kind == SequenceKind::group) {
    if (name == "grouper") return std::optional(subject.sequence()->items[0]);
    if (name == "list") return std::optional(subject.sequence()->items[1]);
  }
  if (subject.is(Datum::Kind::sequence) && subject.sequence()->kind == SequenceKind::range)
    return range_bound(*subject.sequence(), name);
  return std::optional<Datum>();
}

// subject[key] without falling back to attributes.
Result<std::optional<Datum>> element_of(TemplateRun& run, const Datum& subject, const Datum& key) {
  if (subject.is(Datum::Kind::dict)) {
    const Result<const Datum*> found = subject.dict()->find(key, run.meter());
    if (found && *found) return std::optional(**found);
    return std::nullopt;
  }
  if (!key.is_integral()) return std::nullopt;
  int64_t at = key.integer();
  if (subject.is_text()) {
    const MarkedText& text = *subject.text();
    TRY(run.meter().spend_text(text.size()));
    if (at < 0) at += static_cast<int64_t>(count_characters(text.bytes()));
    if (at < 0) return std::nullopt;
    const size_t begin = byte_of_character(text.bytes(), static_cast<size_t>(at), 0);
    if (begin >= text.size()) return std::nullopt;
    MarkedText character = text.slice(begin, byte_of_character(text.bytes(), 1, begin));
    character.html_safe = text.html_safe;
    return std::optional(Datum(std::move(character)));
  }
  if (subject.is(Datum::Kind::sequence) && subject.sequence()->is_indexable()) {
    const std::vector<Datum>& items = subject.sequence()->items;
    if (at < 0) at += static_cast<int64_t>(items.size());
    if (at >= 0 && static_cast<uint64_t>(at) < items.size())
      return std::optional(items[static_cast<size_t>(at)]);
  }
  return std::nullopt;
}

}  // namespace

// Items first, then attributes.
Result<Datum> item_of(TemplateRun& run, const Datum& subject, const Datum& key) {
  if (subject.is_undefined()) return fail(Code::corrupt, "{}", subject.undefined_message());
  if (std::optional<Datum> element = TRY(element_of(run, subject, key))) return *element;
  if (key.is_text()) {
    TRY(run.meter().spend_text(key.text()->size()));
    if (std::optional<Datum> method = TRY(method_of(run, subject, key.bytes()))) return *method;
    return run.missing_attribute(subject, key.bytes());
  }
  MarkedText shown;
  TRY(append_repr(shown, key, run.meter(), false));
  return Datum::undefined(fmt::format("{} has no element {}", described(subject), shown.bytes()));
}

// Attributes (methods) first, then items.
Result<Datum> attribute_of(TemplateRun& run, const Datum& subject, std::string_view name) {
  if (subject.is_undefined()) return fail(Code::corrupt, "{}", subject.undefined_message());
  if (std::optional<Datum> method = TRY(method_of(run, subject, name))) return *method;
  if (subject.is(Datum::Kind::dict)) {
    if (const Datum* found = subject.dict()->find(name)) return *found;
  }
  TRY(run.meter().spend_text(name.size()));
  return run.missing_attribute(subject, name);
}

// "in": parts of texts, items of sequences, keys of dicts.
Result<bool> contains(const Datum& container, const Datum& item, RenderMeter& meter) {
  if (container.is_text()) {
    if (!item.is_text())
      return fail(Code::corrupt, "'in <string>' requires string as left operand, not {}",
                  type_name(item));
    TRY(meter.spend_search(container.text()->size(), item.text()->size()));
    return container.bytes().find(item.bytes()) != std::string::npos;
  }
  if (container.is(Datum::Kind::dict)) return TRY(container.dict()->find(item, meter)) != nullptr;
  if (!container.is(Datum::Kind::sequence) && !container.is_undefined())
    return fail(Code::corrupt, "argument of type '{}' is not iterable", type_name(container));
  DatumWalk walk = TRY(DatumWalk::over(container, meter));
  if (container.is(Datum::Kind::sequence) && container.sequence()->kind == SequenceKind::keys) {
    // Python looks keys up by their hash, which lists and dicts lack.
    DatumDict table;
    TRY(table.find(item, meter));
  }
  while (const std::optional<Datum> candidate = TRY(walk.next())) {
    if (TRY(equal(*candidate, item, meter))) return true;
  }
  return false;
}

}  // namespace ruv::jinja
