// Python's two ways of formatting: "%s %d" % values, and "{} {name:>8}".format(values).
#pragma once

#include "chat/jinja/object.h"

namespace ruv::jinja {

// `values` is a tuple of values, a dict for %(name)s, or one value.
// Fails: corrupt (too few or too many values, a wrong type), invalid (too long).
Result<Datum> printf_format(const Datum& format, const Datum& values, RenderMeter& meter);

// Fields {}, {0}, {name}, {name.attribute}, {name[key]}, with !s, !r or !a and a format such
// as ">10.2f". Fails: corrupt, unsupported (a field inside a format).
Result<Datum> brace_format(TemplateRun& run, const MarkedText& format,
                           const CallArguments& arguments);

}  // namespace ruv::jinja
