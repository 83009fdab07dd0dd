#include "trace/prompt_news.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace conclave::trace {

// Only there messages take what the run was told, and nobody directs it by hand.
void PromptNews::begin(const Header& header) {
  calm_.begin(header);
  if (header.world != "sim") bounds_ = {};
}

void PromptNews::see(const Step& step) {
  if (!demands_something()) return;
  const bool asks_for_members = step.kind == Kind::command && step.input.type == "Reconfigure";
  if (asks_for_members) {
    bounds_ = {};
    return;
  }
  count(step.at);
  const std::uint64_t before = step.node ? calm_.place_of(*step.node) : 0;
  if (calm_.see(step)) {
    keep_up_ = {};
    late_.clear();
  }
  if (step.kind == Kind::crash) late_.erase(*step.node);
  if (step.node) note_news(step, before);
  look_who_keeps_up(step);
}

// The time is over for what the leader announced so long ago.
void PromptNews::count(Ticks now) {
  for (const NodeId node : keep_up_) {
    const auto first = news_.upper_bound(calm_.place_of(node));
    if (first == news_.end() || now - first->second.at <= bounds_.news) continue;
    Late& late = late_.try_emplace(node, Late{first->first, first->second}).first->second;
    if (late.place == first->first) late.waited = now - late.news.at;
  }
}

void PromptNews::note_news(const Step& step, std::uint64_t before) {
  const std::uint64_t now = calm_.place_of(*step.node);
  if (now <= before) return;
  if (calm_.leader() == step.node) {
    for (std::uint64_t place = before + 1; place <= now; ++place) news_[place] = {step.at, step.number};
    return;
  }
  if (const auto late = late_.find(*step.node); late != late_.end() && late->second.place <= now)
    judge(*step.node, step.number);
  if (!keep_up_.contains(*step.node)) return;
  for (auto news = news_.upper_bound(before); news != news_.end() && news->first <= now; ++news) {
    ++judged_;
    longest_ = std::max(longest_, step.at - news->second.at);
  }
}

void PromptNews::look_who_keeps_up(const Step& step) {
  if (!calm_.lasts(step.at)) {
    keep_up_ = {};
    news_.clear();
    return;
  }
  const NodeId leader = *calm_.leader();
  const bool gives_up = step.kind == Kind::command && step.input.type == "Compact" && step.node == leader;
  for (const NodeId node : calm_.members()) {
    const bool has_all = calm_.place_of(node) >= calm_.place_of(leader);
    if (node != leader && has_all) keep_up_.insert(node);
    if (gives_up && !has_all) keep_up_ = keep_up_.without(node);
  }
  forget_old_news();
}

void PromptNews::forget_old_news() {
  if (news_.empty()) return;
  std::uint64_t known = news_.rbegin()->first;
  for (const NodeId node : keep_up_) known = std::min(known, calm_.place_of(node));
  news_.erase(news_.begin(), news_.upper_bound(known));
}

void PromptNews::judge(NodeId node, std::uint64_t step) {
  const Late late = late_.at(node);
  late_.erase(node);
  if (!verdict_.holds) return;
  verdict_.holds = false;
  verdict_.step = step;
  verdict_.why =
      fmt::format("p{} had not announced place {} when the leader had {} ticks ago; {} are allowed",
                  node.value, late.place, late.waited.count, bounds_.news.count);
}

void PromptNews::end(Ticks now) {
  if (!demands_something()) return;
  count(now);
  while (!late_.empty()) judge(late_.begin()->first, late_.begin()->second.news.step);
}

}  // namespace conclave::trace
