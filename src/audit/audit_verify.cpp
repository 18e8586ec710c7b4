// Heads are read in order, and beside them entries and contents in theirs: three cursors, one pass.
#include "audit/audit_verify.h"

#include <cstring>

#include "audit/merkle.h"

namespace ruv {
namespace {

constexpr JsonLimits kBodyLimits{.depth = 64, .values = 1'000'000};

// More than a log can have; sums of these fit 64 bits.
constexpr int64_t kMostEntries = int64_t{1} << 53, kMostLost = int64_t{1} << 32;

// Nothing in the file is believed but what a signature covers: heads by their own, entries by the
// digests that a head's root covers, contents by the digests in their entry. Where a head is
// damaged, its entries are still compared with its list of digests, so that one changed head does
// not hide which entries are as they were.
class AuditVerifier {
 public:
  AuditVerifier(const AuditStore& store, const AuditExpectation& expectation)
      : store_(store),
        expectation_(expectation),
        key_(expectation.key.value_or(store.public_key())) {}

  Result<AuditVerdict> run(const std::function<void(double)>& progress) {
    const int64_t n = TRY(store_.database().number("SELECT count(*) FROM heads"));
    DbStatement heads = TRY(store_.database().prepare(
        fmt::format("SELECT {}, leaves FROM heads ORDER BY number", kHeadColumns)));
    DbStatement entries = TRY(store_.database().prepare(
        fmt::format("SELECT number, body, {} FROM entries ORDER BY number", kEntryColumns)));
    has_entry_ = TRY(entries.step());
    while (TRY(heads.step())) {
      TRY(check_head(heads, entries));
      if (progress && verdict_.n_heads % 64 == 0)
        progress(static_cast<double>(verdict_.n_heads) /
                 static_cast<double>(std::max<int64_t>(n, 1)));
    }
    while (has_entry_) {
      fault(entries.integer(0), 0, "no head covers it");
      has_entry_ = TRY(entries.step());
    }
    TRY(check_strays());
    settle();
    return std::move(verdict_);
  }

 private:
  // Entries without a row, one after the other.
  struct Missing {
    int64_t first, last, head;
  };

  // Faults beyond the most are left out: a log of another key would give one for each row.
  void fault(int64_t entry, int64_t head, std::string what) {
    if (verdict_.faults.size() < kMaxAuditFaults)
      verdict_.faults.push_back({entry, head, std::move(what)});
  }

  // The digests of a head's entries, as far as they can be believed.
  std::vector<Digest> check_signature(const AuditHead& head, std::string_view bytes) {
    const int64_t number = verdict_.last ? verdict_.last->number + 1 : 1;
    const int64_t first = verdict_.last ? verdict_.last->last + 1 : 1;
    const Digest previous = verdict_.last ? verdict_.last->digest()
                                          : digest_of("ruvllm audit log", {store_.public_key()});
    if (head.number != number) fault(0, head.number, fmt::format("head {} is missing", number));
    if (!is_signed(head.digest(), head.signature, key_)) {
      fault(0, head.number, "the signature is not by this key, or the head was changed");
    } else if (head.number == number && (head.first != first || head.previous != previous)) {
      fault(0, head.number, "it does not continue the head before it");
    }
    std::vector<Digest> leaves(bytes.size() / sizeof(Digest));
    if (!leaves.empty()) std::memcpy(leaves.data(), bytes.data(), leaves.size() * sizeof(Digest));
    const bool fits =
        bytes.size() % sizeof(Digest) == 0 && std::ssize(leaves) - 1 == head.last - head.first;
    if (fits && merkle_root(leaves) == head.root) return leaves;
    fault(0, head.number, "its list of digests does not have the root that was signed");
    return fits ? leaves : std::vector<Digest>();
  }

  // Takes the entries up to the head's last from their cursor. Numbers that the head covers and the
  // cursor skips are missing, which the log may explain later.
  Status check_head(const DbStatement& row, DbStatement& entries) {
    auto read = head_in_row(row);
    if (!read) {
      fault(0, row.integer(0), read.error().message());
      return {};
    }
    const AuditHead head = *read;
    if (head.first < 1 || head.last < head.first || head.last > kMostEntries) {
      fault(0, head.number, "it has no entries");
      return {};
    }
    const std::vector<Digest> leaves = check_signature(head, row.text(7));
    ++verdict_.n_heads;
    if (expectation_.head && *expectation_.head == head.digest()) has_expected_ = true;
    int64_t next = head.first;
    while (has_entry_ && entries.integer(0) <= head.last) {
      const int64_t number = entries.integer(0);
      if (number < next) {
        fault(number, 0, "no head covers it");
      } else {
        if (number > next) missing_.push_back({next, number - 1, head.number});
        const auto at = static_cast<size_t>(number - head.first);
        TRY(check_entry(entries, at < leaves.size() ? &leaves[at] : nullptr));
        next = number + 1;
      }
      has_entry_ = TRY(entries.step());
    }
    if (next <= head.last) missing_.push_back({next, head.last, head.number});
    verdict_.last = head;
    return {};
  }

  Status check_entry(const DbStatement& row, const Digest* leaf) {
    const int64_t number = row.integer(0);
    const std::string_view text = row.text(1);
    ++verdict_.n_entries;
    if (leaf == nullptr || entry_digest(number, text) != *leaf) {
      fault(number, 0,
            leaf == nullptr ? "its digest is not in the list of its head"
                            : "it was changed: its digest is not the one in its head");
      return {};
    }
    const auto body = parse_json(text, "entry", kBodyLimits);
    if (!body || !body->is_object()) {
      fault(number, 0, "it is not a JSON object");
      return {};
    }
    if (columns_in_row(row, 2) != entry_columns(*body))
      fault(number, 0, "a column of its row is not what its body says");
    note(*body);
    return check_contents(number, *body);
  }

  // What the log says of itself.
  void note(const Json& body) {
    const std::optional<int64_t> last = whole_number(body.find("last"));
    const std::optional<int64_t> lost = whole_number(body.find("lost"));
    const std::string kind = text_in(body, "kind");
    if (kind == "removal" && last) removed_ = std::max(removed_, std::min(*last, kMostEntries));
    if (kind == "gap" && lost) verdict_.n_lost += std::clamp<int64_t>(*lost, 0, kMostLost);
  }

  Status check_contents(int64_t number, const Json& body) {
    const auto digests = digests_in(body);
    if (!digests) {
      fault(number, 0, digests.error().message());
      return {};
    }
    const std::optional<std::string> sealed = TRY(store_.sealed(number));
    if (sealed && hex_of(sealed_digest(*sealed)) != text_in(body, "sealed"))
      fault(number, 0, "its sealed contents were changed: their digest is not the entry's");
    const auto contents = store_.contents(number);
    if (!contents && contents.error().code() != Code::corrupt &&
        contents.error().code() != Code::invalid)
      return contents.error();
    if (!contents) {
      fault(number, 0, contents.error().message());
    } else if (!*contents) {
      if (sealed) {
        ++verdict_.n_sealed;
      } else if (*digests) {
        ++verdict_.n_without_contents;
      }
    } else {
      ++verdict_.n_with_contents;
      check_digests(number, *digests, **contents);
    }
    return {};
  }

  // Which of the three parts differs is worth knowing; more than one may.
  void check_digests(int64_t number, const std::optional<ContentDigests>& digests,
                     const EntryContents& contents) {
    if (!digests) return fault(number, 0, "it has contents that it does not have digests of");
    const ContentDigests found = digests_of(contents);
    if (found == *digests) return;
    const char* const what = found.prompt != digests->prompt   ? "prompt"
                             : found.answer != digests->answer ? "answer"
                                                               : "text";
    fault(number, 0, fmt::format("its {} was changed: its digest is not the entry's", what));
  }

  // The cursor over entries does not see contents whose entry is gone.
  Status check_strays() {
    DbStatement strays = TRY(store_.database().prepare(
        "SELECT number FROM (SELECT number FROM contents UNION SELECT number FROM sealed) "
        "WHERE number NOT IN (SELECT number FROM entries) LIMIT 100"));
    while (TRY(strays.step())) fault(strays.integer(0), 0, "contents without an entry");
    return {};
  }

  // What is missing may have been removed by an entry that came later.
  void settle() {
    for (const Missing& gap : missing_) {
      verdict_.n_removed += std::max<int64_t>(std::min(gap.last, removed_) - gap.first + 1, 0);
      for (int64_t i = std::max(gap.first, removed_ + 1); i <= gap.last; ++i) {
        if (verdict_.faults.size() == kMaxAuditFaults) return;
        fault(i, gap.head, "it is missing");
      }
    }
    if (expectation_.head && !has_expected_)
      fault(0, 0, "the head that was seen earlier is not in the log");
  }

  const AuditStore& store_;
  const AuditExpectation& expectation_;
  const PublicKey key_;
  AuditVerdict verdict_;
  bool has_entry_ = false;
  bool has_expected_ = false;
  int64_t removed_ = 0;  // the last entry that was removed on purpose
  std::vector<Missing> missing_;
};

}  // namespace

Result<AuditVerdict> verify_audit(const AuditStore& store, const AuditExpectation& expectation,
                                  const std::function<void(double)>& progress) {
  return AuditVerifier(store, expectation).run(progress);
}

}  // namespace ruv
