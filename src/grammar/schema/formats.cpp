// Formats are patterns over the grammars of their standards: RFC 3339 (dates and times; days of
// months and leap years included), RFC 5321 (mail), RFC 1123 (hosts), RFC 4291 (IPv6), RFC 3986 and
// 3987 (URIs, IRIs), RFC 6570 (URI templates), RFC 6901 (pointers), RFC 4122 (UUIDs).
#include "grammar/schema/formats.h"

#include <array>
#include <string>

#include "base/check.h"
#include "grammar/regex/pattern_language.h"

namespace ruv {
namespace {

// Replaces each {NAME} of a pattern by the part of that name, in parentheses.
struct PatternPart {
  std::string_view name;
  std::string_view text;
};
constexpr std::array kParts = {
    PatternPart{"YEAR", "[0-9]{4}"},
    // Multiples of 4 that are no whole centuries, and multiples of 400.
    PatternPart{"LEAP", "[0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00"},
    PatternPart{
        "FULLDATE",
        "{YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
        "|02-(0[1-9]|1[0-9]|2[0-8]))|{LEAP}-02-29"},
    PatternPart{"OFFSET", "[Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9]"},
    PatternPart{"FULLTIME",
                "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?{OFFSET}"
                "|23:59:60(\\.[0-9]+)?([Zz]|[+-]00:00)"},
    PatternPart{"DURATIONTIME", "T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)"},
    PatternPart{"DURATIONDATE", "[0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D"},
    PatternPart{"OCTET", "25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]"},
    PatternPart{"IPV4", "{OCTET}(\\.{OCTET}){3}"},
    PatternPart{"H16", "[0-9A-Fa-f]{1,4}"},
    PatternPart{"LS32", "{H16}:{H16}|{IPV4}"},
    PatternPart{"IPV6",
                "({H16}:){6}{LS32}|::({H16}:){5}{LS32}|({H16})?::({H16}:){4}{LS32}"
                "|(({H16}:){0,1}{H16})?::({H16}:){3}{LS32}|(({H16}:){0,2}{H16})?::({H16}:){2}{LS32}"
                "|(({H16}:){0,3}{H16})?::{H16}:{LS32}|(({H16}:){0,4}{H16})?::{LS32}"
                "|(({H16}:){0,5}{H16})?::{H16}|(({H16}:){0,6}{H16})?::"},
    PatternPart{"LABEL", "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"},
    PatternPart{"HOST", "{LABEL}(\\.{LABEL})*"},
    PatternPart{"ATOM", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"},
    PatternPart{"QUOTED", "\"([ !#-\\[\\]-~]|\\\\[ -~])*\""},
    PatternPart{"MAILLABEL", "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"},
    PatternPart{"MAILHOST", "{MAILLABEL}(\\.{MAILLABEL})*|\\[({IPV4}|IPv6:({IPV6}))\\]"},
    PatternPart{"ESCAPED", "%[0-9A-Fa-f]{2}"},
    PatternPart{"UNRESERVED", "[A-Za-z0-9._~-]"},
    PatternPart{"PCHAR", "[A-Za-z0-9._~!$&'()*+,;=:@-]|{ESCAPED}"},
    PatternPart{"PORT", ":[0-9]*"},
    PatternPart{"LITERALHOST", "\\[({IPV6}|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]"},
    PatternPart{"REGHOST", "([A-Za-z0-9._~!$&'()*+,;=-]|{ESCAPED})*"},
    PatternPart{"USER", "([A-Za-z0-9._~!$&'()*+,;=:-]|{ESCAPED})*@"},
    PatternPart{"AUTHORITY", "{USER}?({LITERALHOST}|{REGHOST}){PORT}?"},
    PatternPart{"SEGMENT", "{PCHAR}*"},
    PatternPart{"SEGMENTS", "(/{SEGMENT})*"},
    PatternPart{"TAIL", "(\\?({PCHAR}|[/?])*)?(#({PCHAR}|[/?])*)?"},
    PatternPart{"HIER", "//{AUTHORITY}{SEGMENTS}|/({PCHAR}+{SEGMENTS})?|{PCHAR}+{SEGMENTS}|"},
    PatternPart{"SCHEME", "[A-Za-z][A-Za-z0-9+.-]*"},
    PatternPart{"NOCOLON", "[A-Za-z0-9._~!$&'()*+,;=@-]|{ESCAPED}"},
    PatternPart{"RELATIVE", "//{AUTHORITY}{SEGMENTS}|/({PCHAR}+{SEGMENTS})?|{NOCOLON}+{SEGMENTS}|"},
    PatternPart{"URI", "{SCHEME}:{HIER}{TAIL}"},
    PatternPart{"URIREF", "{URI}|{RELATIVE}{TAIL}"},
    PatternPart{"ICHAR", "[{WIDECHARS}A-Za-z0-9._~!$&'()*+,;=:@-]|{ESCAPED}"},
    PatternPart{"IREGHOST", "([{WIDECHARS}A-Za-z0-9._~!$&'()*+,;=-]|{ESCAPED})*"},
    PatternPart{"IUSER", "([{WIDECHARS}A-Za-z0-9._~!$&'()*+,;=:-]|{ESCAPED})*@"},
    PatternPart{"IAUTHORITY", "{IUSER}?({LITERALHOST}|{IREGHOST}){PORT}?"},
    PatternPart{"ISEGMENTS", "(/{ICHAR}*)*"},
    PatternPart{"ITAIL", "(\\?({ICHAR}|[/?{PRIVATE}])*)?(#({ICHAR}|[/?])*)?"},
    PatternPart{"IHIER", "//{IAUTHORITY}{ISEGMENTS}|/({ICHAR}+{ISEGMENTS})?|{ICHAR}+{ISEGMENTS}|"},
    PatternPart{"INOCOLON", "[{WIDECHARS}A-Za-z0-9._~!$&'()*+,;=@-]|{ESCAPED}"},
    PatternPart{"IRELATIVE",
                "//{IAUTHORITY}{ISEGMENTS}|/({ICHAR}+{ISEGMENTS})?|{INOCOLON}+{ISEGMENTS}|"},
    PatternPart{"IRI", "{SCHEME}:{IHIER}{ITAIL}"},
    PatternPart{"IMAILLABEL",
                "[{WIDECHARS}A-Za-z0-9]([{WIDECHARS}A-Za-z0-9-]*[{WIDECHARS}A-Za-z0-9])?"},
    PatternPart{"VARCHAR", "[A-Za-z0-9_]|{ESCAPED}"},
    PatternPart{"VARNAME", "{VARCHAR}(\\.?{VARCHAR})*"},
    PatternPart{"VARSPEC", "{VARNAME}(:[1-9][0-9]{0,3}|\\*)?"},
    PatternPart{"EXPRESSION", "\\{[+#./;?&=,!@|]?{VARSPEC}(,{VARSPEC})*\\}"},
    PatternPart{"POINTER", "(/([^/~]|~[01])*)*"},
};
// These are parts of classes of characters: no parentheses around them.
constexpr std::array kClassParts = {
    PatternPart{"WIDECHARS",
                "\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{1fffd}"
                "\\u{20000}-\\u{2fffd}\\u{30000}-\\u{dfffd}\\u{e1000}-\\u{efffd}"},
    PatternPart{"PRIVATE", "\\u{e000}-\\u{f8ff}\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}"},
};

struct NamedFormat {
  std::string_view name;
  std::string_view pattern;
  std::string_view also = {};  // a second pattern that must match, too
};
constexpr std::string_view kHostLength = "[\\s\\S]{1,253}";
constexpr std::array kFormats = {
    NamedFormat{"date", "{FULLDATE}"},
    NamedFormat{"time", "{FULLTIME}"},
    NamedFormat{"date-time", "({FULLDATE})[Tt]({FULLTIME})"},
    NamedFormat{"duration", "P([0-9]+W|({DURATIONDATE})({DURATIONTIME})?|{DURATIONTIME})"},
    NamedFormat{"email", "({ATOM}(\\.{ATOM})*|{QUOTED})@({MAILHOST})"},
    NamedFormat{"idn-email",
                "([{WIDECHARS}A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[{WIDECHARS}A-Za-z0-9!#$%&'*+/="
                "?^_`{|}~-]+)*|{QUOTED})@({IMAILLABEL}(\\.{IMAILLABEL})*"
                "|\\[({IPV4}|IPv6:({IPV6}))\\])"},
    // Labels with "--" at the third place are encoded international ones, which have more rules.
    NamedFormat{"hostname", "((?![A-Za-z0-9]{2}--){LABEL})(\\.(?![A-Za-z0-9]{2}--){LABEL})*",
                kHostLength},
    NamedFormat{"ipv4", "{IPV4}"},
    NamedFormat{"ipv6", "{IPV6}"},
    NamedFormat{"uri", "{URI}"},
    NamedFormat{"uri-reference", "{URIREF}"},
    NamedFormat{"iri", "{IRI}"},
    NamedFormat{"iri-reference", "{IRI}|({IRELATIVE}){ITAIL}"},
    NamedFormat{
        "uri-template",
        "([!#$&()*+,./0-9:;=?@A-Z\\[\\]_a-z~{WIDECHARS}{PRIVATE}-]|{ESCAPED}|{EXPRESSION})*"},
    NamedFormat{"uuid",
                "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    NamedFormat{"json-pointer", "{POINTER}"},
    NamedFormat{"relative-json-pointer", "(0|[1-9][0-9]*)(#|{POINTER})"},
};

std::string expanded(std::string_view pattern);

std::string part_of(std::string_view name) {
  for (const PatternPart& part : kParts) {
    if (part.name == name) return "(" + expanded(part.text) + ")";
  }
  for (const PatternPart& part : kClassParts) {
    if (part.name == name) return std::string(part.text);
  }
  return {};
}

// Parts refer to parts before them, so this ends.
std::string expanded(std::string_view pattern) {
  std::string made;
  for (size_t i = 0; i < pattern.size();) {
    const size_t end = pattern[i] == '{' ? pattern.find('}', i) : std::string_view::npos;
    const std::string_view name =
        end == std::string_view::npos ? "" : pattern.substr(i + 1, end - i - 1);
    const std::string part = name.empty() ? "" : part_of(name);
    if (part.empty()) {
      made += pattern[i++];
    } else {
      made += part;
      i = end + 1;
    }
  }
  return made;
}

std::optional<Language> pattern_of(Languages& l, const JsonText& text, std::string_view pattern) {
  const auto read = read_pattern(expanded(pattern), {});
  if (!read) return std::nullopt;
  const auto made = language_of(l, *read, text.alphabet(), PatternMatch::whole);
  if (!made) return std::nullopt;
  return *made;
}

}  // namespace

std::optional<Language> Formats::find(std::string_view format) {
  for (const NamedFormat& known : kFormats) {
    if (known.name != format) continue;
    const auto found = languages_.find(known.name);
    if (found != languages_.end()) return found->second;
    auto made = pattern_of(l_, text_, known.pattern);
    if (made && !known.also.empty()) {
      const auto also = pattern_of(l_, text_, known.also);
      if (also) made = l_.all_of(*made, *also);
    }
    if (made) languages_.emplace(known.name, *made);
    return made;
  }
  return std::nullopt;
}

}  // namespace ruv
