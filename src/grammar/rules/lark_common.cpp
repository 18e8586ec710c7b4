// The terminals that `%import common.…` knows, each in full. ESCAPED_STRING ends at its first
// quote that no backslash escapes, and C_COMMENT at the first "*/": their definitions in Lark rely
// on a lexer that stops there.
#include <algorithm>
#include <array>

#include "grammar/rules/lark_parser.h"

namespace ruv {
namespace {

struct CommonTerminal {
  std::string_view name;
  std::string_view pattern;
};

#define RUV_DECIMAL "[0-9]+\\.[0-9]*|\\.[0-9]+"
#define RUV_EXPONENT "[eE][+-]?[0-9]+"
#define RUV_FLOAT "[0-9]+" RUV_EXPONENT "|(?:" RUV_DECIMAL ")(?:" RUV_EXPONENT ")?"

constexpr std::array<CommonTerminal, 24> kCommonTerminals = {{
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", RUV_DECIMAL},
    {"FLOAT", RUV_FLOAT},
    {"SIGNED_FLOAT", "[+-]?(?:" RUV_FLOAT ")"},
    {"NUMBER", RUV_FLOAT "|[0-9]+"},
    {"SIGNED_NUMBER", "[+-]?(?:" RUV_FLOAT "|[0-9]+)"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[A-Za-z_][A-Za-z_0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"SQL_COMMENT", "--[^\\n]*"},
    {"C_COMMENT", "/\\*(?:[^*]|\\*+[^*/])*\\*+/"},
}};

#undef RUV_FLOAT
#undef RUV_EXPONENT
#undef RUV_DECIMAL

}  // namespace

std::optional<std::string_view> common_lark_terminal(std::string_view name) {
  const auto found = std::ranges::find(kCommonTerminals, name, &CommonTerminal::name);
  if (found == kCommonTerminals.end()) return std::nullopt;
  return found->pattern;
}

}  // namespace ruv
