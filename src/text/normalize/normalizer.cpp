// Neighbouring steps that look at characters alone become one stage; origins of stages compose.
#include "text/normalize/normalizer.h"

#include <algorithm>

#include "text/normalize/stage.h"
#include "text/read_char.h"

namespace ruv {

void TextBuilder::copy(std::string_view text, size_t begin, size_t end) {
  out_.text += text.substr(begin, end - begin);
  if (!with_origin_) return;
  for (size_t i = begin; i < end;) {
    const size_t size = std::min<size_t>(read_char(text, i).size, end - i);
    out_.origin.insert(out_.origin.end(), size, static_cast<uint32_t>(i));
    i += size;
  }
}

Result<Normalizer> Normalizer::create(std::span<const NormalizerStep> steps) {
  Normalizer made;
  for (size_t i = 0; i < steps.size();) {
    size_t end = i;
    while (end < steps.size() && is_character_step(steps[end].kind)) ++end;
    if (end > i) {
      made.stages_.push_back(make_character_stage(steps.subspan(i, end - i)));
      i = end;
    } else if (steps[i].kind == NormalizerKind::charsmap) {
      made.stages_.push_back(TRY(make_charsmap_stage(steps[i++])));
    } else {
      made.stages_.push_back(TRY(make_text_stage(steps[i++])));
    }
  }
  return made;
}

bool Normalizer::may_change(std::string_view text) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](const StagePtr& stage) { return stage->may_change(text); });
}

void Normalizer::apply(std::string_view text, bool with_origin, NormalizedText& out) const {
  out.text.clear();
  out.origin.clear();
  bool changed = false;
  NormalizedText next;
  for (const StagePtr& stage : stages_) {
    const std::string_view now = changed ? out.text : text;
    if (!stage->may_change(now)) continue;
    next.text.clear();
    next.origin.clear();
    stage->apply(now, with_origin, next);
    if (changed && with_origin) {
      for (uint32_t& origin : next.origin) origin = out.origin[origin];
    }
    std::swap(out, next);
    changed = true;
  }
  if (changed) return;
  TextBuilder builder(out, with_origin);
  builder.copy(text, 0, text.size());
  builder.finish(text.size());
}

}  // namespace ruv
