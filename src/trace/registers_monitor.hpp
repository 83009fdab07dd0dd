// Watches a run of a mutual exclusion program over shared registers: the properties of every lock, and what
// registers add to them.
//
//   overtaken   how often others entered while one process waited: without bound where it can starve
//   highest     the greatest value written: the greatest ticket of a bakery
#pragma once
#include "trace/mutex_monitor.hpp"

namespace conclave::trace {

class RegistersMonitor : public MutexMonitor {
 public:
  using MutexMonitor::MutexMonitor;

  void see(const Step& step) override;
  std::vector<Fact> facts() const override;

  // Of safe registers: how many reads overlapped a write.
  std::uint64_t overlapping_reads() const { return overlapping_reads_; }
  std::uint64_t most_overtaken() const { return most_overtaken_; }
  // Of the registers of that array.
  std::uint64_t highest(std::string_view array) const;

 private:
  std::map<NodeId, std::uint64_t> overtaken_;  // of those who wait, since they asked
  std::uint64_t most_overtaken_ = 0;
  std::optional<NodeId> victim_;
  std::map<std::string, std::uint64_t> highest_;  // by register without its index
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t overlapping_reads_ = 0;
};

}  // namespace conclave::trace
