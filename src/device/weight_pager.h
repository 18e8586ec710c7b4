// WeightPager: which parts of a packed file memory holds, for a model that exceeds it. A step says
// what it multiplies next; what memory lacks of that is read, all of it at once, and as much as was
// read is given up.
//
// What is kept are the parts that are used most, recent uses counting more. A part is kept in place
// of another only when it was used more before now: were the newest always kept, a model all of
// whose matrices are used in turn would find none of them in memory when it comes back to it. Other
// parts pass: they are given up in the order in which they were read.
//
// The mapped file stays where it is, and so do the addresses of weights. What the system drops of
// it by itself is read again.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/thread.h"

namespace ruv {

// Any thread may call its functions.
class WeightPager {
 public:
  // `room` says how many bytes of the file memory may hold; asked from time to time.
  WeightPager(std::shared_ptr<const MappedFile> file, std::function<int64_t()> room);

  // Takes all parts of the file: the largest are kept as far as there is room, as they need much
  // of it to pass, and the others are given up. To be called once, before the first use.
  void adopt(std::vector<Bytes> parts);
  struct Use {
    Bytes bytes;           // a part that is always used whole
    bool lacking = false;  // set by use(): memory has not all of it yet
  };
  // These are multiplied in the layer that is computed, or in the next one. Begins to read what
  // memory lacks, in this order. Bytes outside of the file are passed over.
  void use(std::span<Use> uses);
  // Another layer begins.
  void begin_layer();

  struct Stats {
    int64_t n_used = 0;  // bytes of all parts used so far
    int64_t n_read = 0;  // of those that memory lacked
    int64_t n_kept = 0;  // of those that are kept now
    int64_t n_passing = 0;
  };
  Stats stats() const;

 private:
  enum class State : uint8_t { absent, passing, kept };
  struct Part {
    Bytes bytes;
    double uses = 0;  // in units that grow (unit_), which is as if older uses faded
    State state = State::absent;
    bool is_new = true;  // not read yet
    int64_t last_layer = 0;
    int64_t size() const { return std::ssize(bytes); }
  };
  struct LessUsed {
    bool operator()(const Part* a, const Part* b) const {
      return a->uses != b->uses ? a->uses < b->uses : a->bytes.data() < b->bytes.data();
    }
  };

  bool contains(Bytes bytes) const;
  Part& part_of(Bytes bytes);
  void count_use(Part& part);
  // Whether it was taken into what is kept, others having left it.
  bool keep(Part& part);
  void pass(Part& part);
  void give_up_one_kept();
  // Until what passes, and what is kept, have no more than their room.
  void give_up();
  // Whether a layer may still multiply it: then it may not be given up.
  bool is_used(const Part& part) const { return part.last_layer + 1 >= n_layers_; }
  int64_t room_to_pass() const;
  int64_t room_to_keep() const;

  const std::shared_ptr<const MappedFile> file_;
  const std::function<int64_t()> ask_room_;
  mutable Mutex mutex_;
  std::unordered_map<const std::byte*, std::unique_ptr<Part>> parts_;
  std::set<Part*, LessUsed> kept_;
  std::deque<Part*> passing_;
  std::vector<Bytes> to_read_;
  int64_t room_ = 0;
  int64_t n_layers_ = 0;
  // What is read before as much is given up, and what passes and cannot be given up: most bytes in
  // this period and in the one before.
  struct Peaks {
    int64_t read = 0, used = 0;
  } peaks_, peaks_before_;
  double unit_ = 1;
  Stats stats_;
};

}  // namespace ruv
