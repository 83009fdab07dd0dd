// Shows one run to several observers.
#pragma once
#include <algorithm>
#include <vector>

#include "trace/step.hpp"

namespace conclave::trace {

class Tee : public Observer {
 public:
  explicit Tee(std::vector<Observer*> observers) : observers_(std::move(observers)) {}
  void begin(const Header& header) override {
    for (Observer* observer : observers_) observer->begin(header);
  }
  void see(const Step& step) override {
    for (Observer* observer : observers_) observer->see(step);
  }
  void end(const End& end) override {
    for (Observer* observer : observers_) observer->end(end);
  }
  bool wants_contents() const override {
    return std::ranges::any_of(observers_, [](Observer* observer) { return observer->wants_contents(); });
  }
  bool wants_vectors() const override {
    return std::ranges::any_of(observers_, [](Observer* observer) { return observer->wants_vectors(); });
  }

 private:
  std::vector<Observer*> observers_;
};

// Keeps the steps, for a diagram.
class Keeper : public Observer {
 public:
  explicit Keeper(std::size_t most) : most_(most) {}
  void begin(const Header& header) override { header_ = header; }
  void see(const Step& step) override {
    if (steps_.size() < most_) {
      steps_.push_back(step);
    } else {
      dropped_ = true;
    }
  }
  bool wants_contents() const override { return true; }
  const Header& header() const { return header_; }
  const std::vector<Step>& steps() const { return steps_; }
  bool dropped_some() const { return dropped_; }

 private:
  std::size_t most_;
  Header header_;
  std::vector<Step> steps_;
  bool dropped_ = false;
};

}  // namespace conclave::trace
