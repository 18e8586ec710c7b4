// A reader of fixed-width fields; the calendar is std::chrono's.
#include "iso_time.h"

#include <fmt/chrono.h>

#include <chrono>
#include <optional>

namespace ruv {
namespace {

class TimeFields {
 public:
  explicit TimeFields(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }
  bool skip(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == any_of.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<int> digits(size_t n) {
    if (rest_.size() < n) return std::nullopt;
    int value = 0;
    for (const char c : rest_.substr(0, n)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(n);
    return value;
  }
  // Two digits in [0, limit).
  std::optional<int> pair(int limit) {
    const std::optional<int> value = digits(2);
    return value && *value < limit ? value : std::nullopt;
  }
  char first() const { return rest_.empty() ? '\0' : rest_.front(); }

 private:
  std::string_view rest_;
};

std::optional<int64_t> read_date(TimeFields& in) {
  const std::optional<int> year = in.digits(4);
  if (!year || !in.skip("-")) return std::nullopt;
  const std::optional<int> month = in.digits(2);
  if (!month || !in.skip("-")) return std::nullopt;
  const std::optional<int> day = in.digits(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * int64_t{86400};
}

std::optional<int64_t> read_clock(TimeFields& in) {
  const std::optional<int> hour = in.pair(24);
  if (!hour || !in.skip(":")) return std::nullopt;
  const std::optional<int> minute = in.pair(60);
  if (!minute) return std::nullopt;
  int64_t seconds = *hour * 3600 + *minute * 60;
  if (!in.skip(":")) return seconds;
  const std::optional<int> second = in.pair(60);
  if (!second) return std::nullopt;
  if (in.skip(".")) {
    while (in.skip("0123456789")) {
    }
  }
  return seconds + *second;
}

std::optional<int64_t> read_offset(TimeFields& in) {
  if (in.empty() || in.skip("Zz")) return 0;
  const int sign = in.first() == '-' ? -1 : 1;
  if (!in.skip("+-")) return std::nullopt;
  const std::optional<int> hours = in.pair(24);
  in.skip(":");
  const std::optional<int> minutes = in.pair(60);
  if (!hours || !minutes) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

std::optional<int64_t> read_time(TimeFields& in) {
  const std::optional<int64_t> date = read_date(in);
  if (!date || in.empty()) return date;
  if (!in.skip("Tt ")) return std::nullopt;
  const std::optional<int64_t> clock = read_clock(in);
  if (!clock) return std::nullopt;
  const std::optional<int64_t> offset = read_offset(in);
  if (!offset || !in.empty()) return std::nullopt;
  return *date + *clock - *offset;
}

}  // namespace

Result<int64_t> parse_iso_time(std::string_view text) {
  TimeFields in(text);
  const std::optional<int64_t> time = read_time(in);
  if (!time) return fail(Code::invalid, "'{}' is not a time like 2025-03-14T15:09:26", text);
  return *time;
}

std::string utc_text(int64_t unix_s) {
  constexpr int64_t kLastTime = 253'402'300'799;  // the end of the year 9999
  if (unix_s < 0 || unix_s > kLastTime) return std::to_string(unix_s);
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(unix_s)));
}

}  // namespace ruv
