// Entities keep the mark of the character that they stand for.
#include "chat/jinja/html.h"

namespace ruv::jinja {

MarkedText html_escaped(const MarkedText& text) {
  static constexpr std::string_view kSpecial = "&<>\"'";
  static constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
  MarkedText out;
  text.for_each_run([&](std::string_view run, bool from_user) {
    size_t begin = 0;
    for (size_t at = run.find_first_of(kSpecial); at != std::string_view::npos;
         at = run.find_first_of(kSpecial, begin)) {
      out.append(run.substr(begin, at - begin), from_user);
      out.append(kEntities[kSpecial.find(run[at])], from_user);
      begin = at + 1;
    }
    out.append(run.substr(begin), from_user);
  });
  out.html_safe = true;
  return out;
}

}  // namespace ruv::jinja
