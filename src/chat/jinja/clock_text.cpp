// Calendar arithmetic after Hinnant's "days from civil"; the C library's depends on locale and TZ.
#include "chat/jinja/clock_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/utf8.h"
#include "chat/jinja/letters.h"

namespace ruv::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

// A moment in UTC as calendar fields.
struct Moment {
  int64_t year, month, day, hour, minute, second, weekday, day_of_year;  // month, day from 1
  int64_t unix_s;
};

// Proleptic Gregorian calendar; works for negative times.
Moment moment_of(int64_t unix_s) {
  Moment out{};
  out.unix_s = unix_s;
  int64_t days = unix_s / 86400;
  int64_t seconds = unix_s % 86400;
  if (seconds < 0) {
    seconds += 86400;
    --days;
  }
  out.hour = seconds / 3600;
  out.minute = seconds / 60 % 60;
  out.second = seconds % 60;
  out.weekday = ((days + 4) % 7 + 7) % 7;
  const int64_t z = days + 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t day_of_era = z - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day + 2) / 153;  // from March
  out.day = day - (153 * shifted_month + 2) / 5 + 1;
  out.month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  out.year = year_of_era + era * 400 + (out.month <= 2 ? 1 : 0);
  const bool leap = (out.year % 4 == 0 && out.year % 100 != 0) || out.year % 400 == 0;
  constexpr int kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  out.day_of_year = kBefore[out.month - 1] + out.day + (leap && out.month > 2 ? 1 : 0);
  return out;
}

// How one directive is to be laid out: %[flags][width][E or O]letter.
struct Directive {
  char pad = 0;          // '-', '_' or '0'; 0: the letter's own
  bool upper = false;    // '^'
  bool swapped = false;  // '#'
  size_t width = 0;
  char modifier = 0;  // 'E' or 'O'
  char letter = 0;
};

std::string padded(std::string text, size_t width, char fill) {
  if (text.size() < width) text.insert(0, width - text.size(), fill);
  return text;
}

// A number of `digits` digits at least, with `fill` before it where the directive does not say.
std::string number(int64_t value, size_t digits, const Directive& how, char fill = '0') {
  std::string text = fmt::format("{}", value);
  if (how.pad == '-') return padded(std::move(text), how.width, ' ');
  if (how.pad != 0) fill = how.pad == '_' ? ' ' : '0';
  return padded(std::move(text), std::max(digits, how.width), fill);
}

// As C does it: what would become several characters stays as it is.
std::string one_by_one_upper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    std::string upper;
    append_upper(upper, c.value);
    const bool one = c.valid && count_characters(upper) == 1;
    out += one ? std::string_view(upper) : text.substr(at, c.size);
    at += c.size;
  }
  return out;
}

// Any other text; # makes upper case of names.
std::string words(std::string text, const Directive& how, bool is_name = false) {
  if (how.upper || (how.swapped && is_name)) {
    text = one_by_one_upper(text);
  }
  return padded(std::move(text), how.width, how.pad == '0' ? '0' : ' ');
}

// The year and the week of ISO 8601: weeks begin on Monday, the first holds the first Thursday.
struct IsoWeek {
  int64_t year, week;
};

// Weeks before the first one belong to the previous year.
IsoWeek iso_week_of(const Moment& t) {
  const auto is_leap = [](int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  };
  const int64_t weekday = (t.weekday + 6) % 7;  // from Monday
  const int64_t thursday = t.day_of_year - weekday + 3;
  if (thursday < 1) {
    const int64_t days = is_leap(t.year - 1) ? 366 : 365;
    return {t.year - 1, (thursday + days - 1) / 7 + 1};
  }
  const int64_t days = is_leap(t.year) ? 366 : 365;
  if (thursday > days) return {t.year + 1, 1};
  return {t.year, (thursday - 1) / 7 + 1};
}

// The letters whose value is a number; nothing for others.
std::optional<std::string> number_field(const Moment& t, const Directive& how) {
  const int64_t hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  switch (how.letter) {
    case 'C':
      return number(t.year / 100, 2, how);
    case 'd':
      return number(t.day, 2, how);
    case 'e':
      return number(t.day, 2, how, ' ');
    case 'g':
      return number(iso_week_of(t).year % 100, 2, how);
    case 'G':
      return number(iso_week_of(t).year, 4, how);
    case 'H':
      return number(t.hour, 2, how);
    case 'I':
      return number(hour12, 2, how);
    case 'j':
      return number(t.day_of_year, 3, how);
    case 'k':
      return number(t.hour, 2, how, ' ');
    case 'l':
      return number(hour12, 2, how, ' ');
    case 'm':
      return number(t.month, 2, how);
    case 'M':
      return number(t.minute, 2, how);
    case 's':
      return number(t.unix_s, 1, how);
    case 'S':
      return number(t.second, 2, how);
    case 'u':
      return number(t.weekday == 0 ? 7 : t.weekday, 1, how);
    case 'U':
      return number((t.day_of_year + 6 - t.weekday) / 7, 2, how);
    case 'V':
      return number(iso_week_of(t).week, 2, how);
    case 'w':
      return number(t.weekday, 1, how);
    case 'W':
      return number((t.day_of_year + 6 - (t.weekday + 6) % 7) / 7, 2, how);
    case 'y':
      return number(t.year % 100, 2, how);
    case 'Y':
      return number(t.year, 4, how);
    default:
      return std::nullopt;
  }
}

std::string clock_of(const Moment& t) {
  return fmt::format("{:02}:{:02}:{:02}", t.hour, t.minute, t.second);
}

// The letters whose value is a text; nothing for others.
std::optional<std::string> word_field(const Moment& t, const Directive& how) {
  const std::string day(kDays[static_cast<size_t>(t.weekday)]);
  const std::string month(kMonths[static_cast<size_t>(t.month - 1)]);
  const bool morning = t.hour < 12;
  switch (how.letter) {
    case 'a':
      return words(day.substr(0, 3), how, true);
    case 'A':
      return words(day, how, true);
    case 'b':
    case 'h':
      return words(month.substr(0, 3), how, true);
    case 'B':
      return words(month, how, true);
    case 'c':
      return words(fmt::format("{} {} {:2} {} {}", day.substr(0, 3), month.substr(0, 3), t.day,
                               clock_of(t), t.year),
                   how);
    case 'D':
    case 'x':
      return words(fmt::format("{:02}/{:02}/{:02}", t.month, t.day, t.year % 100), how);
    case 'F':
      return words(fmt::format("{}-{:02}-{:02}", t.year, t.month, t.day), how);
    case 'n':
      return words("\n", how);
    case 'p': {
      Directive own = how;
      if (how.swapped) own.upper = false;
      const bool lower = how.swapped;
      return words(morning ? (lower ? "am" : "AM") : (lower ? "pm" : "PM"), own);
    }
    case 'P': {
      Directive own = how;
      own.upper = false;
      return words(morning ? "am" : "pm", own);
    }
    case 'r':
      return words(fmt::format("{:02}:{:02}:{:02} {}", t.hour % 12 == 0 ? 12 : t.hour % 12,
                               t.minute, t.second, morning ? "AM" : "PM"),
                   how);
    case 'R':
      return words(fmt::format("{:02}:{:02}", t.hour, t.minute), how);
    case 't':
      return words("\t", how);
    case 'T':
    case 'X':
      return words(clock_of(t), how);
    case 'z':
      return std::string();  // Python's naive datetimes have no zone
    case 'Z':
      return words("", how);
    case '%':
      return words("%", how);
    default:
      return std::nullopt;
  }
}

// Letters that C knows no E or O form of.
bool takes_modifier(char letter, char modifier) {
  static constexpr std::string_view kNotE = "abdeghjklmwABDFGHIMSUVW";
  static constexpr std::string_view kNotO = "acADFxXY";
  if (modifier == 0) return true;
  return (modifier == 'E' ? kNotE : kNotO).find(letter) == std::string_view::npos;
}

// Reads the directive that begins at format[at], a '%', and moves `at` past it.
Result<std::string> field(std::string_view format, size_t& at, const Moment& t) {
  constexpr size_t kMaxWidth = 1000;
  const size_t begin = at++;
  // Python writes these itself, and only in their plain form.
  if (at < format.size() && format[at] == 'f') return ++at, std::string("000000");
  if (at < format.size() && (format[at] == 'z' || format[at] == 'Z')) return ++at, std::string();
  Directive how;
  static constexpr std::string_view kFlags = "-_0^#";
  for (; at < format.size() && kFlags.find(format[at]) != std::string_view::npos; ++at) {
    const char flag = format[at];
    if (flag == '^') {
      how.upper = true;
    } else if (flag == '#') {
      how.swapped = true;
    } else {
      how.pad = flag;
    }
  }
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    how.width = std::min(how.width * 10 + static_cast<size_t>(format[at] - '0'), kMaxWidth + 1);
  if (how.width > kMaxWidth)
    return fail(Code::invalid, "strftime_now: a width above {} is refused", kMaxWidth);
  if (at < format.size() && (format[at] == 'E' || format[at] == 'O')) how.modifier = format[at++];
  if (at < format.size() && takes_modifier(format[at], how.modifier)) {
    how.letter = format[at];
    std::optional<std::string> text = number_field(t, how);
    if (!text) text = word_field(t, how);
    if (text) return ++at, *text;
  }
  // What C does not know stays as it is, laid out like a text.
  if (at < format.size()) at += decode_utf8(format, at).size;
  std::string raw(format.substr(begin, at - begin));
  how.width += raw.size() - count_characters(raw);
  return words(std::move(raw), how);
}

}  // namespace

// Copies text and expands directives.
Result<std::string> clock_text(std::string_view format, int64_t unix_s) {
  constexpr int64_t kFarthest = 253402300799;  // the end of the year 9999
  if (unix_s < 0 || unix_s > kFarthest)
    return fail(Code::invalid, "the time {} is outside of 1970 to 9999", unix_s);
  const Moment moment = moment_of(unix_s);
  format = format.substr(0, format.find('\0'));  // as C reads it
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] == '%') {
      out += TRY(field(format, at, moment));
    } else {
      out += format[at++];
    }
  }
  return out;
}

}  // namespace ruv::jinja
