// Builds precompiled_charsmap blobs for tests and fuzzers: a double array of the keys, placed by
// trying bases in turn.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ruv {

class CharsmapBuilder {
 public:
  // Requires: keys are not empty and hold no NUL; few of them.
  explicit CharsmapBuilder(const std::map<std::string, std::string>& rules) {
    units_.resize(1);
    used_.assign(1, true);
    std::map<std::string, uint32_t> values;
    for (const auto& [key, replacement] : rules) {
      values[key] = static_cast<uint32_t>(replacements_.size());
      replacements_ += replacement + '\0';
    }
    place(0, "", values);
  }

  std::string blob() const {
    const auto n_bytes = static_cast<uint32_t>(4 * units_.size());
    std::string out(4 + n_bytes, '\0');
    std::memcpy(out.data(), &n_bytes, 4);
    std::memcpy(out.data() + 4, units_.data(), n_bytes);
    return out + replacements_;
  }

 private:
  void place(uint32_t node, const std::string& prefix,
             const std::map<std::string, uint32_t>& values) {
    std::vector<uint8_t> labels;
    for (auto it = values.lower_bound(prefix); it != values.end(); ++it) {
      if (it->first.compare(0, prefix.size(), prefix) != 0) break;
      const bool ends = it->first.size() == prefix.size();
      const uint8_t label = ends ? uint8_t{0} : static_cast<uint8_t>(it->first[prefix.size()]);
      if (labels.empty() || labels.back() != label) labels.push_back(label);
    }
    uint32_t base = 1;
    while (!fits(base, labels)) ++base;
    bases_.insert(base);
    for (const uint8_t label : labels) used_[base ^ label] = true;
    units_[node] |= (node ^ base) << 10 | (labels.front() == 0 ? 0x100U : 0U);
    for (const uint8_t label : labels) {
      if (label == 0) {
        units_[base] = values.at(prefix) | 0x80000000U;
        continue;
      }
      units_[base ^ label] = label;
      place(base ^ label, prefix + static_cast<char>(label), values);
    }
  }

  // Two nodes with one base would own each other's children.
  bool fits(uint32_t base, const std::vector<uint8_t>& labels) {
    if (bases_.count(base) > 0) return false;
    if (units_.size() < (base | 0xFFU) + 1) {
      units_.resize((base | 0xFFU) + 1);
      used_.resize(units_.size());
    }
    for (const uint8_t label : labels) {
      if (used_[base ^ label]) return false;
    }
    return true;
  }

  std::vector<uint32_t> units_;
  std::vector<bool> used_;
  std::set<uint32_t> bases_;
  std::string replacements_;
};

}  // namespace ruv
