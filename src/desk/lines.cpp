#include "desk/lines.hpp"

#include "core/ensure.hpp"

namespace conclave::desk {

Claim* Lines::find(const std::string& id) {
  const auto found = claims_.find(id);
  return found == claims_.end() ? nullptr : &found->second;
}

bool Lines::has_room(const std::string& place) const {
  if (claims_.size() >= limits_.claims) return false;
  const auto line = lines_.find(place);
  return line == lines_.end() || line->second.waiting.size() < limits_.waiting_per_place;
}

void Lines::join(Claim claim) {
  const std::string place = claim.place;
  claim.ticket = ++last_ticket_;
  claim.since = std::chrono::steady_clock::now();
  const auto [at, fresh] = claims_.emplace(std::string(claim.id), std::move(claim));
  ensure(fresh, "no two claims have the same id");
  lines_[place].waiting.emplace(at->second.ticket, &at->second);
  ++waiting_;
  serve(place);
}

void Lines::end(const std::string& id) {
  const auto node = claims_.extract(id);
  if (node.empty()) return;
  const Claim& claim = node.mapped();
  const std::string& place = claim.place;
  Line& line = lines_.at(place);
  if (claim.holds()) {
    line.holder = nullptr;
    line.state = Line::State::idle;
  } else {
    line.waiting.erase(claim.ticket);
    --waiting_;
  }
  events_.ended(claim);
  if (claim.holds()) source_.give_back(place);
  serve(place);
}

// Asks while somebody waits, and takes the request back when nobody does any more. The state is set before
// the group is called, which may answer at once.
void Lines::serve(const std::string& place) {
  const auto at = lines_.find(place);
  if (at == lines_.end() || at->second.state == Line::State::held) return;
  const bool asked = at->second.state == Line::State::asked;
  if (!at->second.waiting.empty()) {
    if (asked) return;
    at->second.state = Line::State::asked;
    return source_.ask(place);
  }
  lines_.erase(at);
  if (asked) source_.give_back(place);
}

void Lines::granted(const std::string& place, std::uint64_t fence) {
  const auto at = lines_.find(place);
  if (at == lines_.end() || at->second.state != Line::State::asked) {
    events_.stray_grant(place);
    // The request was taken back, and the grant was under way already.
    if (at == lines_.end() || at->second.state == Line::State::idle) source_.give_back(place);
    return;
  }
  Line& line = at->second;
  ensure(!line.waiting.empty() && fence > 0, "who asks waits for somebody, and fences begin at one");
  line.state = Line::State::held;
  line.holder = line.waiting.begin()->second;
  line.waiting.erase(line.waiting.begin());
  --waiting_;
  line.holder->fence = fence;
  line.holder->since = std::chrono::steady_clock::now();
  events_.holds(*line.holder);
}

void Lines::lost(const std::string& place, const std::string& why) {
  const auto at = lines_.find(place);
  if (at == lines_.end() || at->second.state != Line::State::held) return;
  const auto node = claims_.extract(at->second.holder->id);
  at->second.holder = nullptr;
  at->second.state = Line::State::idle;
  events_.lost(node.mapped(), why);
  // The group is in the middle of losing things; who waits is served when it is done.
  source_.later([this, place] { serve(place); });
}

void Lines::dismiss(const rpc::Status& why) {
  for (auto& [id, claim] : claims_)
    for (const CallerPtr& caller : claim.callers) caller->refuse(why);
  lines_.clear();
  claims_.clear();
  waiting_ = 0;
}

}  // namespace conclave::desk
