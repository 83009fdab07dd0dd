#include "live/link_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/ensure.hpp"
#include "core/random.hpp"

namespace conclave::live {

bool LinkState::send(ByteView payload) {
  ensure(payload.size() <= limits_.message_bytes, "a message keeps to the bound of its link");
  if (window_.bytes() + data_head_bytes + payload.size() > limits_.queue_bytes) {
    give_up();
    return false;
  }
  window_.push(peer_.received, payload);
  settle_ack();
  return true;
}

void LinkState::give_up() {
  window_.clear();
  ++stream_;
}

bool LinkState::retired(std::uint64_t incarnation) const {
  return std::ranges::find(retired_, incarnation) != retired_.end();
}

void LinkState::retire(std::uint64_t incarnation) { retired_[oldest_retired_++ % remembered] = incarnation; }

std::expected<void, Refusal> LinkState::admit(const Card& ours, const Card& theirs,
                                              const Encounter& encounter) const {
  // Where anybody may have been the later one, whoever was there before comes back when that one has left.
  if (retired(theirs.incarnation) && (encounter.proven || encounter.connected))
    return std::unexpected(Refusal{RefusalCode::superseded, "a later process with this id was met since"});
  if (theirs.incarnation != peer_.incarnation && encounter.connected)
    return std::unexpected(Refusal{RefusalCode::duplicate_id, "another process with this id is connected"});
  if (encounter.greeted <= met_)
    return std::unexpected(Refusal{RefusalCode::superseded, "a later connection was made since"});
  if (ours.stream != stream_)
    return std::unexpected(Refusal{RefusalCode::busy, "the queue overflowed during the handshake"});
  return {};
}

std::expected<LinkState::Meeting, Refusal> LinkState::meet(const Card& ours, const Card& theirs,
                                                           const Encounter& encounter) {
  if (const auto fine = admit(ours, theirs, encounter); !fine) return std::unexpected(fine.error());
  Meeting meeting;
  meeting.new_incarnation = theirs.incarnation != peer_.incarnation;
  if (meeting.new_incarnation) {
    meeting.former = peer_.incarnation;
    // What was queued before anybody was met is for whoever comes first.
    if (meeting.former != 0) {
      meeting.dropped = window_.messages();
      window_.clear();
      first_stream_ = stream_;
      retire(meeting.former);
    }
    std::ranges::replace(retired_, theirs.incarnation, std::uint64_t{0});
    // If it knows somebody else under our id, it will drop what it has, and its numbers are about that one.
    const bool for_us = theirs.knows.incarnation == 0 || theirs.knows.incarnation == incarnation_;
    peer_ = {.incarnation = theirs.incarnation, .stream = for_us ? theirs.first_stream : theirs.stream};
  }
  if (const auto resumed = resume(theirs, encounter.proven, meeting); !resumed)
    return std::unexpected(resumed.error());
  met_ = encounter.now;
  settle_ack();  // our card has told
  return meeting;
}

// What contradicts our memory is refused, of a peer that proved who it is. Where nobody can, somebody else
// may have been here in its name: then the two begin anew, rather than never to meet again.
std::expected<void, Refusal> LinkState::resume(const Card& theirs, bool proven, Meeting& meeting) {
  if (theirs.stream < peer_.stream && proven)
    return std::unexpected(Refusal{RefusalCode::out_of_order,
                                   fmt::format("stream {} after stream {}", theirs.stream, peer_.stream)});
  if (theirs.stream != peer_.stream) {
    meeting.peer_gave_up = true;
    peer_.stream = theirs.stream;
    peer_.received = 0;
  }
  const bool speaks_of_this = theirs.knows.incarnation == incarnation_ && theirs.knows.stream == stream_;
  const std::uint64_t received = speaks_of_this ? theirs.knows.received : 0;
  const bool sent = window_.acknowledge(received);
  if (!sent && proven)
    return std::unexpected(Refusal{RefusalCode::out_of_order,
                                   fmt::format("message {} is acknowledged and was never sent", received)});
  if (!sent || window_.first_unacknowledged() > received + 1) {
    meeting.peer_forgot = true;
    meeting.dropped += window_.messages();
    give_up();
  }
  meeting.sent_again = window_.rewind(peer_.received);
  return {};
}

std::expected<LinkState::Arrival, Refusal> LinkState::on_data(const Data& data) {
  if (const auto fine = on_received(data.received); !fine) return std::unexpected(fine.error());
  ++owed_messages_;
  owed_bytes_ += data.payload.size();
  if (data.sequence <= peer_.received) {
    ++duplicates_;
    return Arrival::duplicate;
  }
  if (data.sequence != peer_.received + 1)
    return std::unexpected(Refusal{RefusalCode::out_of_order, fmt::format("message {} after message {}",
                                                                          data.sequence, peer_.received)});
  peer_.received = data.sequence;
  return Arrival::fresh;
}

std::expected<void, Refusal> LinkState::on_received(std::uint64_t received) {
  if (window_.acknowledge(received)) return {};
  return std::unexpected(Refusal{RefusalCode::out_of_order,
                                 fmt::format("message {} is acknowledged and was never sent", received)});
}

std::array<std::byte, alive_bytes> LinkState::alive() {
  settle_ack();
  return alive_frame(peer_.received);
}

Redial::Duration Redial::next() {
  const unsigned doublings = std::min(failures_++, 20u);
  const Duration whole = std::min(most_, least_ * (std::int64_t{1} << doublings));
  const auto half = static_cast<std::uint64_t>(whole.count() / 2);
  const ScrambledBits draw(scramble(seed_ + scramble(++draws_)));
  return whole / 2 + Duration(static_cast<std::int64_t>(draw.between(0, half)));
}

}  // namespace conclave::live
