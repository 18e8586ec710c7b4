// Calendar arithmetic after Hinnant's "days from civil"; the C library's depends on locale and TZ.
#include "chat/jinja/clock_text.h"

#include <array>

namespace ruv::jinja {

namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

struct Moment {
  int64_t year, month, day, hour, minute, second, weekday, day_of_year;  // month, day from 1
};

Moment moment_of(int64_t unix_s) {
  Moment out{};
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

std::string number(int64_t value, int width, bool padded, char fill = '0') {
  std::string digits = fmt::format("{}", value);
  while (padded && digits.size() < static_cast<size_t>(width)) digits.insert(0, 1, fill);
  return digits;
}

std::string field(char letter, const Moment& t, bool padded) {
  const std::string_view day = kDays[static_cast<size_t>(t.weekday)];
  const std::string_view month = kMonths[static_cast<size_t>(t.month - 1)];
  const int64_t hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  const auto clock = [&] { return fmt::format("{:02}:{:02}:{:02}", t.hour, t.minute, t.second); };
  const auto short_date = [&] {
    return fmt::format("{:02}/{:02}/{:02}", t.month, t.day, t.year % 100);
  };
  switch (letter) {
    case 'a':
      return std::string(day.substr(0, 3));
    case 'A':
      return std::string(day);
    case 'b':
    case 'h':
      return std::string(month.substr(0, 3));
    case 'B':
      return std::string(month);
    case 'c':
      return fmt::format("{} {} {:2} {} {}", day.substr(0, 3), month.substr(0, 3), t.day, clock(),
                         t.year);
    case 'd':
      return number(t.day, 2, padded);
    case 'e':
      return number(t.day, 2, padded, ' ');
    case 'D':
    case 'x':
      return short_date();
    case 'F':
      return fmt::format("{}-{:02}-{:02}", t.year, t.month, t.day);
    case 'H':
      return number(t.hour, 2, padded);
    case 'I':
      return number(hour12, 2, padded);
    case 'j':
      return number(t.day_of_year, 3, padded);
    case 'm':
      return number(t.month, 2, padded);
    case 'M':
      return number(t.minute, 2, padded);
    case 'n':
      return "\n";
    case 'p':
      return t.hour < 12 ? "AM" : "PM";
    case 'S':
      return number(t.second, 2, padded);
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return clock();
    case 'f':
      return "000000";
    case 'u':
      return number(t.weekday == 0 ? 7 : t.weekday, 1, padded);
    case 'U':
      return number((t.day_of_year + 6 - t.weekday) / 7, 2, padded);
    case 'w':
      return number(t.weekday, 1, padded);
    case 'W':
      return number((t.day_of_year + 6 - (t.weekday + 6) % 7) / 7, 2, padded);
    case 'y':
      return number(t.year % 100, 2, padded);
    case 'Y':
      return number(t.year, 4, false);
    case 'Z':
    case 'z':
      return "";  // Python's naive datetimes have no zone
    case '%':
      return "%";
    default:
      return std::string("%") + letter;
  }
}

}  // namespace

Result<std::string> clock_text(std::string_view format, int64_t unix_s) {
  constexpr int64_t kFarthest = 253402300799;  // the end of the year 9999
  if (unix_s < 0 || unix_s > kFarthest)
    return fail(Code::invalid, "the time {} is outside of 1970 to 9999", unix_s);
  const Moment moment = moment_of(unix_s);
  std::string out;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%' || at + 1 >= format.size()) {
      out += format[at];
      continue;
    }
    const bool padded = !(format[at + 1] == '-' && at + 2 < format.size());
    at += padded ? 1 : 2;
    out += field(format[at], moment, padded);
  }
  return out;
}

}  // namespace ruv::jinja
