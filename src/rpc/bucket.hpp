// A rate that may be exceeded for a moment: a bucket of tokens that fills by itself. Time is an input.
#pragma once
#include <algorithm>
#include <chrono>

namespace conclave::rpc {

class Bucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `burst` at once, `rate` per second for ever.
  Bucket(double burst, double rate) : burst_(burst), rate_(rate), tokens_(burst) {}

  // False if there is none left.
  bool take(Time now) {
    refill(now);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  // What was earned by work may be more than a burst, up to `most`.
  void earn(double tokens, double most) {
    if (tokens_ < most) tokens_ = std::min(most, tokens_ + tokens);
  }
  bool full(Time now) {
    refill(now);
    return tokens_ >= burst_;
  }

 private:
  void refill(Time now) {
    if (tokens_ < burst_ && now > filled_)
      tokens_ = std::min(burst_, tokens_ + rate_ * std::chrono::duration<double>(now - filled_).count());
    filled_ = std::max(filled_, now);
  }

  double burst_;
  double rate_;
  double tokens_;
  Time filled_ = {};
};

}  // namespace conclave::rpc
