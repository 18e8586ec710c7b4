#include "audit/audit_query.h"

#include <algorithm>

namespace ruv {
namespace {

// A condition's text, and the parameter that it binds.
// Values come from callers and are bound; only conditions of this file become part of the text.
class QueryText {
 public:
  void add(std::string_view condition) {
    text_ += text_.empty() ? " WHERE " : " AND ";
    text_ += condition;
  }
  void add(std::string_view condition, int64_t number) {
    add(fmt::format("{} ?{}", condition, ++n_));
    numbers_.emplace_back(n_, number);
  }
  void add(std::string_view condition, const std::string& value) {
    if (value.empty()) return;
    add(fmt::format("{} ?{}", condition, ++n_));
    texts_.emplace_back(n_, value);
  }
  const std::string& text() const { return text_; }
  // Requires: this lives until the statement ends.
  void bind(DbStatement& statement) const {
    for (const auto& [at, number] : numbers_) statement.bind(at, number);
    for (const auto& [at, value] : texts_) statement.bind(at, std::string_view(value));
  }

 private:
  std::string text_;
  int n_ = 0;
  std::vector<std::pair<int, int64_t>> numbers_;
  std::vector<std::pair<int, std::string>> texts_;
};

QueryText conditions_of(const AuditFilter& filter) {
  QueryText query;
  query.add("number >", filter.after);
  query.add("number <", filter.before);
  if (!filter.with_notes) query.add("kind = 'answer'");
  if (filter.since_ms) query.add("time_ms >=", *filter.since_ms);
  if (filter.until_ms) query.add("time_ms <", *filter.until_ms);
  query.add("model =", filter.model);
  query.add("tenant =", filter.tenant);
  query.add("finish =", filter.finish);
  query.add("request_id =", filter.request_id);
  if (filter.slower_than_us > 0) query.add("total_us >", filter.slower_than_us);
  return query;
}

// The newest rating of each answer, by request and tenant.
using RatedAnswers = std::map<std::pair<std::string, std::string>, double>;

Result<RatedAnswers> ratings_in(const AuditStore& store) {
  DbStatement rows = TRY(store.database().prepare(
      "SELECT number, body FROM entries WHERE kind = 'rating' ORDER BY number"));
  RatedAnswers rated;
  while (TRY(rows.step())) {
    const Json body =
        TRY(parse_json(rows.text(1), fmt::format("entry {}", rows.integer(0)), {.depth = 64}));
    const auto quality = quality_in(body);
    if (quality) rated[{text_in(body, "id"), text_in(body, "tenant")}] = *quality;
  }
  return rated;
}

// Numbers of answers that the filter takes, with their quality; those of one request may be many.
Result<std::vector<std::pair<int64_t, double>>> rated_answers(const AuditStore& store,
                                                              const AuditFilter& filter) {
  std::vector<std::pair<int64_t, double>> found;
  for (const auto& [whose, quality] : TRY(ratings_in(store))) {
    const auto& [request_id, tenant] = whose;
    const bool is_asked = filter.request_id.empty() || filter.request_id == request_id;
    if (quality >= *filter.rated_below || request_id.empty() || !is_asked) continue;
    AuditFilter of_request = filter;
    of_request.request_id = request_id;
    of_request.with_notes = false;
    const QueryText query = conditions_of(of_request);
    DbStatement rows = TRY(store.database().prepare(
        fmt::format("SELECT number, tenant FROM entries{}", query.text())));
    query.bind(rows);
    while (TRY(rows.step())) {
      if (rows.text(1) == tenant) found.emplace_back(rows.integer(0), quality);
    }
  }
  std::ranges::sort(found);
  if (filter.newest_first) std::ranges::reverse(found);
  if (std::ssize(found) > filter.most) found.resize(static_cast<size_t>(filter.most));
  return found;
}

Status for_each_rated(const AuditStore& store, const AuditFilter& filter,
                      const std::function<Status(const AuditRow&)>& visit) {
  DbStatement row = TRY(store.database().prepare(
      fmt::format("SELECT number, body, {} FROM entries WHERE number = ?1", kEntryColumns)));
  for (const auto& [number, quality] : TRY(rated_answers(store, filter))) {
    row.bind(1, number);
    if (TRY(row.step())) {
      TRY(visit({row.integer(0), columns_in_row(row, 2), row.text(1), quality}));
    }
    row.reset();
  }
  return {};
}

// The numbers of a member of `times` or `tokens`; 0 where there is none.
double number_in(const Json& body, std::string_view group, std::string_view name) {
  const Json* object = body.find(group);
  const Json* number = object != nullptr && object->is_object() ? object->find(name) : nullptr;
  return real_number(number).value_or(0);
}
int64_t count_in(const Json& body, std::string_view name) {
  const double number = number_in(body, "tokens", name);
  return number > 0 && number < 1e15 ? static_cast<int64_t>(number) : 0;
}

// The nearest entry to each share: a figure that some answer had, and not one between two.
AuditTimes times_of(std::vector<float> all) {
  if (all.empty()) return {};
  std::ranges::sort(all);
  const auto at = [&](double share) {
    return double{all[static_cast<size_t>(share * static_cast<double>(all.size() - 1) + 0.5)]};
  };
  return {.p50 = at(0.5), .p90 = at(0.9), .p99 = at(0.99), .most = double{all.back()}};
}

// Numbers differ from case to case, as in "timed out after 1203 ms".
std::string without_digits(std::string_view message) {
  std::string text;
  for (const char c : message) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) text += c;
    if (is_digit && !text.ends_with('#')) text += '#';
  }
  return text;
}

// Collects figures entry by entry.
// Times are kept as they come, 16 bytes for each answer, as percentiles need all of them; errors
// are grouped as they come, so that a log of any length gives at most kMaxErrorGroups.
class FigureReader {
 public:
  Status add(const AuditRow& row) {
    const Json body = TRY(parse_json(row.body, fmt::format("entry {}", row.number),
                                     {.depth = 64, .values = 1'000'000}));
    if (!body.is_object()) return fail(Code::corrupt, "entry {}: not an object", row.number);
    const std::string& model = row.columns.model;
    AuditModelFigures& figures = made_.models[model];
    ++figures.n;
    figures.n_prompt_tokens += count_in(body, "prompt");
    figures.n_cached_tokens += count_in(body, "cached");
    figures.n_answer_tokens += count_in(body, "answer");
    ++figures.finishes[row.columns.finish];
    Lists& lists = lists_[model];
    lists.numbers.push_back(row.number);
    for (const auto& [name, list] : {std::pair{"total_ms", &lists.total},
                                     {"queue_ms", &lists.queue},
                                     {"prefill_ms", &lists.prefill},
                                     {"decode_ms", &lists.decode}})
      list->push_back(static_cast<float>(number_in(body, "times", name)));
    if (const Json* error = body.find("error")) add_error(*error, row.number);
    return {};
  }

  AuditFigures finish(double spike) {
    for (auto& [model, lists] : lists_) {
      AuditModelFigures& figures = made_.models[model];
      figures.total = times_of(lists.total);
      figures.queue = times_of(lists.queue);
      figures.prefill = times_of(lists.prefill);
      figures.decode = times_of(lists.decode);
      add_spikes(lists, figures.total.p50, spike);
    }
    std::ranges::sort(made_.errors, std::greater(), &AuditErrorGroup::n);
    std::ranges::sort(made_.spikes, std::greater(), &AuditFigures::Spike::ms);
    if (made_.spikes.size() > kMaxSpikes) made_.spikes.resize(kMaxSpikes);
    return std::move(made_);
  }

 private:
  struct Lists {
    std::vector<int64_t> numbers;
    std::vector<float> total, queue, prefill, decode;
  };

  void add_error(const Json& error, int64_t number) {
    if (!error.is_object()) return;
    const std::string code = text_in(error, "code");
    const std::string message = without_digits(text_in(error, "message"));
    auto found = std::ranges::find_if(made_.errors, [&](const AuditErrorGroup& group) {
      return group.code == code && group.message == message;
    });
    if (found == made_.errors.end()) {
      if (made_.errors.size() == kMaxErrorGroups) {
        ++made_.n_other_errors;
        return;
      }
      made_.errors.push_back({.code = code, .message = message, .first = number});
      found = made_.errors.end() - 1;
    }
    ++found->n;
    found->last = number;
  }

  // The median of a model is what its usual answer takes: a mean would move with the spikes.
  void add_spikes(const Lists& lists, double median, double spike) {
    if (median <= 0) return;
    for (size_t i = 0; i < lists.total.size(); ++i) {
      const double ms = double{lists.total[i]};
      if (ms > median * spike) made_.spikes.push_back({lists.numbers[i], ms, ms / median});
    }
  }

  AuditFigures made_;
  std::map<std::string, Lists> lists_;
};

Json percentiles_json(const AuditTimes& times) {
  return {{"p50", times.p50}, {"p90", times.p90}, {"p99", times.p99}, {"max", times.most}};
}

}  // namespace

Json figures_json(const AuditFigures& figures) {
  Json json{{"models", Json::object()}, {"errors", Json::array()}, {"slow", Json::array()}};
  for (const auto& [name, model] : figures.models) {
    Json finishes = Json::object();
    for (const auto& [finish, n] : model.finishes) finishes[finish] = n;
    json["models"][name] = Json{{"answers", model.n},
                                {"finishes", finishes},
                                {"prompt_tokens", model.n_prompt_tokens},
                                {"cached_tokens", model.n_cached_tokens},
                                {"answer_tokens", model.n_answer_tokens},
                                {"total_ms", percentiles_json(model.total)},
                                {"queue_ms", percentiles_json(model.queue)},
                                {"prefill_ms", percentiles_json(model.prefill)},
                                {"decode_ms", percentiles_json(model.decode)}};
  }
  for (const AuditErrorGroup& group : figures.errors) {
    json["errors"].push_back(Json{{"code", group.code},
                                  {"message", group.message},
                                  {"n", group.n},
                                  {"first", group.first},
                                  {"last", group.last}});
  }
  for (const auto& spike : figures.spikes)
    json["slow"].push_back(
        Json{{"number", spike.number}, {"ms", spike.ms}, {"times_median", spike.times}});
  json["other_errors"] = figures.n_other_errors;
  return json;
}

Status for_each_entry(const AuditStore& store, const AuditFilter& filter,
                      const std::function<Status(const AuditRow&)>& visit) {
  if (filter.rated_below) return for_each_rated(store, filter, visit);
  const QueryText query = conditions_of(filter);
  DbStatement rows = TRY(store.database().prepare(
      fmt::format("SELECT number, body, {} FROM entries{} ORDER BY number {} LIMIT {}",
                  kEntryColumns, query.text(), filter.newest_first ? "DESC" : "ASC", filter.most)));
  query.bind(rows);
  while (TRY(rows.step())) TRY(visit({rows.integer(0), columns_in_row(rows, 2), rows.text(1)}));
  return {};
}

Result<AuditFigures> audit_figures(const AuditStore& store, const AuditFilter& filter,
                                   double spike) {
  FigureReader reader;
  TRY(for_each_entry(store, filter, [&](const AuditRow& row) { return reader.add(row); }));
  return reader.finish(spike);
}

}  // namespace ruv
