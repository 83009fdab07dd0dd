// Two ends of a link under every fault that a seed can draw: connections that die at any moment, handshakes
// that finish on one side only, are overtaken or cross each other, restarts, queues that overflow. No
// sockets: bytes travel in queues.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "core/random.hpp"
#include "live/link_state.hpp"

namespace conclave::live {
namespace {

constexpr LinkLimits small = {
    .queue_bytes = 600, .message_bytes = 40, .messages_per_ack = 3, .bytes_per_ack = 200};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    return ScrambledBits(scramble(seed_ + scramble(++count_))).below(bound);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

// What travels over a connection: parts of the handshake, then bytes.
struct Parcel {
  enum class Kind { hello, card, bytes } kind;
  Card card = {};
  std::string bytes = {};
};

// One connection between two ends, of which either may have dialled. What was sent before an end left may
// still arrive at the other.
struct Line {
  unsigned dialler = 0;
  std::array<std::deque<Parcel>, 2> to = {};
  std::array<Card, 2> cards = {};
  std::array<std::uint64_t, 2> greeted = {};
  std::array<bool, 2> here = {true, true};
};

struct Content {
  std::uint64_t sender;
  std::uint64_t number;
};

// A process with its end of the link, and the owner that checks what it is told.
struct Process {
  ChunkPool& pool;
  std::uint64_t incarnation;
  std::unique_ptr<LinkState> state;
  std::shared_ptr<Line> line = {};  // established
  std::string in = {};
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t moments = 0;
  bool gap_announced = false;
  std::map<std::string, std::uint64_t>& marks;

  Process(ChunkPool& memory, std::uint64_t number, std::map<std::string, std::uint64_t>& counts)
      : pool(memory),
        incarnation(number),
        state(std::make_unique<LinkState>(pool, number, small)),
        marks(counts) {}

  Card card() const {
    return {.incarnation = incarnation,
            .stream = state->stream(),
            .first_stream = state->first_stream(),
            .knows = state->knows()};
  }

  // False if the queue was full.
  bool send() {
    const Content content = {incarnation, ++sent};
    return state->send(std::as_bytes(std::span(&content, 1)));
  }

  // The handshake is finished here; false if it was refused.
  bool meet(const std::shared_ptr<Line>& over, const Card& ours, const Card& theirs, std::uint64_t greeted) {
    const auto meeting =
        state->meet(ours, theirs, {.connected = line != nullptr, .greeted = greeted, .now = ++moments});
    if (!meeting) {
      ++marks["refused: " + std::string(enumerator_name(meeting.error().code))];
      return false;
    }
    EXPECT_FALSE(meeting->peer_forgot) << "nobody forgets here";
    if (meeting->new_incarnation) {
      received = 0;
      gap_announced = false;
      if (meeting->former != 0) sent = 0, ++marks["restart noticed"];
    }
    if (meeting->peer_gave_up) gap_announced = true, ++marks["gap announced"];
    if (meeting->sent_again > 0) ++marks["sent again"];
    line = over;
    in.clear();
    return true;
  }

  void take(const std::string& bytes) {
    in += bytes;
    for (;;) {
      const auto frame = next_frame(bytes_of(in), 1000);
      ASSERT_TRUE(frame);
      if (!*frame) return;
      if ((*frame)->kind == FrameKind::alive)
        ASSERT_TRUE(state->on_received(*decode_alive((*frame)->body)));
      else
        take_message(*decode_data((*frame)->body));
      in.erase(0, (*frame)->size);
    }
  }

  void take_message(const Data& data) {
    const auto arrival = state->on_data(data);
    ASSERT_TRUE(arrival) << arrival.error().text;
    if (*arrival == LinkState::Arrival::duplicate) {
      ++marks["duplicate"];
      return;
    }
    Content content;
    std::memcpy(&content, data.payload.data(), sizeof content);
    ASSERT_EQ(content.sender, state->knows().incarnation);
    if (content.number != received + 1) {
      ASSERT_TRUE(gap_announced) << content.number << " after " << received;
      ASSERT_GT(content.number, received);
      gap_announced = false;
    }
    received = content.number;
  }

  // Hands up to `most` bytes to the connection.
  void write(std::deque<Parcel>& out, std::size_t most) {
    if (state->ack_is_due() && state->window().all_taken()) {
      const auto alive = state->alive();
      out.push_back(
          {Parcel::Kind::bytes, {}, std::string(reinterpret_cast<const char*>(alive.data()), alive.size())});
    }
    std::array<ByteView, 1> piece;
    if (state->window().next_pieces(piece) == 0) return;
    const ByteView part = piece[0].first(std::min(most, piece[0].size()));
    out.push_back(
        {Parcel::Kind::bytes, {}, std::string(reinterpret_cast<const char*>(part.data()), part.size())});
    state->window().take(part.size());
  }
};

class World {
 public:
  explicit World(std::uint64_t seed, std::map<std::string, std::uint64_t>& marks)
      : draws_(seed), marks_(marks) {
    for (unsigned end : {0u, 1u}) ends_[end] = std::make_unique<Process>(pool_, end + 1, marks);
  }

  void step(bool faults) {
    if (draws_.one_in(3)) speak(draw_end());
    // The second knocks now and then, as it may where members change.
    if (!ends_[0]->line) dial(0);
    if (!ends_[1]->line && draws_.one_in(quiet_ ? 500 : 30)) dial(1);
    for (const auto& line : lines_) travel(line);
    for (unsigned end : {0u, 1u}) {
      const auto& line = ends_[end]->line;
      if (line && line->here[end]) ends_[end]->write(line->to[1 - end], draws_.below(60));
    }
    notice_ends();
    if (faults) draw_fault();
    std::erase_if(lines_, [](const auto& line) { return !line->here[0] && !line->here[1]; });
  }

  // The last word of each must have arrived: what an overflow dropped before it is known to be lost.
  void come_to_rest() {
    quiet_ = true;
    for (int i = 0; i < 20'000 && !::testing::Test::HasFatalFailure(); ++i) {
      if (i % 2'000 == 1'000) {
        if (at_rest()) return;
        for (const auto& end : ends_) end->send();
      }
      step(false);
    }
    ADD_FAILURE() << "the link does not come to rest";
  }

 private:
  unsigned draw_end() { return draws_.one_in(2) ? 0 : 1; }

  bool at_rest() const {
    return ends_[0]->line && ends_[1]->line == ends_[0]->line && ends_[0]->received == ends_[1]->sent &&
           ends_[1]->received == ends_[0]->sent;
  }

  void speak(unsigned end) {
    if (quiet_ || ends_[end]->send()) return;
    ++marks_["overflow"];
    leave(end);  // only a new card can speak of the new stream
  }

  void dial(unsigned end) {
    if (dialling_[end]) return;
    const auto line = dialling_[end] = std::make_shared<Line>();
    line->dialler = end;
    line->greeted[end] = ++ends_[end]->moments;
    line->to[1 - end].push_back({Parcel::Kind::hello});
    lines_.push_back(line);
    if (end == 1) ++marks_["knocks"];
  }

  // Something that is on its way may arrive.
  void travel(const std::shared_ptr<Line>& line) {
    for (unsigned end : {1u, 0u}) {
      auto& coming = line->to[end];
      if (coming.empty() || !draws_.one_in(2)) continue;
      const Parcel parcel = coming.front();
      coming.pop_front();
      if (line->here[end]) arrive(line, end, parcel);
    }
  }

  void arrive(const std::shared_ptr<Line>& line, unsigned end, const Parcel& parcel) {
    Process& here = *ends_[end];
    auto& back = line->to[1 - end];
    const bool dialled = line->dialler == end;
    if (parcel.kind == Parcel::Kind::hello) {
      if (dialled) {
        line->cards[end] = here.card();
        back.push_back({Parcel::Kind::card, line->cards[end]});
      } else {
        line->greeted[end] = ++here.moments;
        back.push_back({Parcel::Kind::hello});
      }
    } else if (parcel.kind == Parcel::Kind::card) {
      if (dialled) dialling_[end].reset();
      if (!dialled) line->cards[end] = here.card();
      const auto before = here.line;
      // The line it had is gone by the time that the same incarnation comes again; another is a twin.
      if (!here.meet(line, line->cards[end], parcel.card, line->greeted[end])) {
        line->here[end] = false;
        return;
      }
      if (before) before->here[end] = false, ++marks_["replaced"];
      if (dialling_[end]) dialling_[end]->here[end] = false, dialling_[end].reset(), ++marks_["crossed"];
      if (!dialled) back.push_back({Parcel::Kind::card, line->cards[end]});
    } else if (here.line == line) {
      here.take(parcel.bytes);
    }
  }

  // An end hears, sooner or later, that the other one left; whatever was sent before comes first.
  void notice_ends() {
    for (unsigned end : {0u, 1u}) {
      const auto line = ends_[end]->line;
      if (line && !line->here[1 - end] && line->to[end].empty() && draws_.one_in(quiet_ ? 2 : 10)) leave(end);
      auto& dialling = dialling_[end];
      if (!dialling || (dialling->here[1 - end] && !draws_.one_in(quiet_ ? 200 : 20))) continue;
      if (draws_.one_in(2)) dialling->to[1 - end].clear();  // or it arrives, too late
      dialling->here[end] = false;
      dialling.reset();
    }
  }

  void leave(unsigned end) {
    Process& who = *ends_[end];
    if (!who.line) return;
    who.line->here[end] = false;
    who.line.reset();
  }

  void draw_fault() {
    if (draws_.one_in(60)) {
      ++marks_["connection lost"];
      if (const auto line = ends_[draw_end()]->line) {
        // One end leaves and the other notices in its own time, or both at once. What an end has sent may be
        // lost with it.
        const std::uint64_t who = draws_.below(3);
        for (unsigned end : {0u, 1u}) {
          if (who == end || ends_[end]->line != line) continue;
          if (draws_.one_in(2)) line->to[1 - end].clear();
          leave(end);
        }
      }
    }
    if (draws_.one_in(400)) restart(draw_end());
    if (draws_.one_in(300)) {
      for (int i = 0; i < 40; ++i) speak(draw_end());
    }
  }

  void restart(unsigned end) {
    ++marks_["restart"];
    leave(end);
    for (const auto& line : lines_) line->here[end] = false;
    dialling_[end].reset();
    ends_[end] = std::make_unique<Process>(pool_, ++incarnations_, marks_);
  }

  Draws draws_;
  std::map<std::string, std::uint64_t>& marks_;
  ChunkPool pool_{53};
  std::uint64_t incarnations_ = 2;
  bool quiet_ = false;
  std::array<std::unique_ptr<Process>, 2> ends_;
  std::array<std::shared_ptr<Line>, 2> dialling_;
  std::vector<std::shared_ptr<Line>> lines_;
};

TEST(LinkState, KeepsItsPromiseUnderDrawnFaults) {
  std::map<std::string, std::uint64_t> marks;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, marks);
    for (int i = 0; i < 2'000 && !HasFatalFailure(); ++i) world.step(true);
    world.come_to_rest();
    if (HasFailure()) return;
  }
  // A fault that never happened was survived by nobody.
  for (const char* mark : {"connection lost", "restart", "restart noticed", "overflow", "gap announced",
                           "sent again", "refused: superseded", "knocks", "crossed"})
    EXPECT_GT(marks[mark], 20u) << mark;
}

}  // namespace
}  // namespace conclave::live
