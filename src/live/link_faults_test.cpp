// Two ends of a link under every fault that a seed can draw: connections that die at any moment, handshakes
// that finish on one side only or are overtaken, restarts, queues that overflow. No sockets: bytes travel in
// queues.
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
  enum class Kind { hello, proof, bytes } kind;
  Hello hello = {};
  std::string bytes = {};
};

// One connection, dialled by the first end. What was sent before an end left may still arrive at the other.
struct Line {
  std::uint64_t attempt = 0;
  std::deque<Parcel> forth = {};
  std::deque<Parcel> back = {};
  Hello dialled = {};  // the dialler's hello, and the acceptor's
  Hello accepted = {};
  bool dialler_here = true;
  bool acceptor_here = true;
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
  bool gap_announced = false;
  std::map<std::string, std::uint64_t>& marks;

  Process(ChunkPool& memory, std::uint64_t number, std::map<std::string, std::uint64_t>& counts)
      : pool(memory),
        incarnation(number),
        state(std::make_unique<LinkState>(pool, number, small)),
        marks(counts) {}

  Hello hello(std::uint64_t attempt) const {
    return {.incarnation = incarnation,
            .stream = state->stream(),
            .first_stream = state->first_stream(),
            .attempt = attempt,
            .knows = state->knows(),
            .nonce = {}};
  }

  // False if the queue was full.
  bool send() {
    const Content content = {incarnation, ++sent};
    return state->send(std::as_bytes(std::span(&content, 1)));
  }

  // The handshake is finished here; false if it was refused.
  bool meet(const std::shared_ptr<Line>& over, const Hello& ours, const Hello& theirs) {
    const auto meeting = state->meet(ours, theirs, line != nullptr);
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
      : draws_(seed),
        marks_(marks),
        dialler_(std::make_unique<Process>(pool_, 1, marks)),
        acceptor_(std::make_unique<Process>(pool_, 2, marks)) {}

  void step(bool faults) {
    if (draws_.one_in(3)) speak(draws_.one_in(2));
    if (!dialling_ && !dialler_->line) dial();
    for (const auto& line : lines_) travel(line);
    if (dialler_->line && dialler_->line->dialler_here)
      dialler_->write(dialler_->line->forth, draws_.below(60));
    if (acceptor_->line && acceptor_->line->acceptor_here)
      acceptor_->write(acceptor_->line->back, draws_.below(60));
    notice_ends();
    if (faults) draw_fault();
    std::erase_if(lines_, [](const auto& line) { return !line->dialler_here && !line->acceptor_here; });
  }

  // The last word of each must have arrived: what an overflow dropped before it is known to be lost.
  void come_to_rest() {
    quiet_ = true;
    for (int i = 0; i < 20'000 && !::testing::Test::HasFatalFailure(); ++i) {
      if (i % 2'000 == 1'000) {
        if (at_rest()) return;
        dialler_->send();
        acceptor_->send();
      }
      step(false);
    }
    ADD_FAILURE() << "the link does not come to rest";
  }

 private:
  bool at_rest() const {
    return dialler_->line && acceptor_->line == dialler_->line && dialler_->received == acceptor_->sent &&
           acceptor_->received == dialler_->sent;
  }

  void speak(bool first) {
    Process& who = first ? *dialler_ : *acceptor_;
    if (quiet_ || who.send()) return;
    ++marks_["overflow"];
    leave(first);  // only a new hello can speak of the new stream
  }

  void dial() {
    dialling_ = std::make_shared<Line>();
    dialling_->attempt = ++attempts_;
    dialling_->dialled = dialler_->hello(attempts_);
    dialling_->forth.push_back({Parcel::Kind::hello, dialling_->dialled});
    lines_.push_back(dialling_);
  }

  // Something that is on its way may arrive.
  void travel(const std::shared_ptr<Line>& line) {
    if (!line->forth.empty() && draws_.one_in(2)) {
      const Parcel parcel = line->forth.front();
      line->forth.pop_front();
      if (line->acceptor_here) arrive_at_acceptor(line, parcel);
    }
    if (!line->back.empty() && draws_.one_in(2)) {
      const Parcel parcel = line->back.front();
      line->back.pop_front();
      if (line->dialler_here) arrive_at_dialler(line, parcel);
    }
  }

  void arrive_at_acceptor(const std::shared_ptr<Line>& line, const Parcel& parcel) {
    if (parcel.kind == Parcel::Kind::hello) {
      line->accepted = acceptor_->hello(parcel.hello.attempt);
      line->back.push_back({Parcel::Kind::hello, line->accepted});
    } else if (parcel.kind == Parcel::Kind::proof) {
      const auto before = acceptor_->line;
      // The line it had is gone by the time that the same incarnation comes again; another is a twin.
      if (!acceptor_->meet(line, line->accepted, line->dialled)) {
        line->acceptor_here = false;
        return;
      }
      if (before) before->acceptor_here = false, ++marks_["replaced"];
      line->back.push_back({Parcel::Kind::proof});
    } else if (acceptor_->line == line) {
      acceptor_->take(parcel.bytes);
    }
  }

  void arrive_at_dialler(const std::shared_ptr<Line>& line, const Parcel& parcel) {
    if (parcel.kind == Parcel::Kind::hello) {
      line->accepted = parcel.hello;
      line->forth.push_back({Parcel::Kind::proof});
    } else if (parcel.kind == Parcel::Kind::proof) {
      dialling_.reset();
      if (!dialler_->meet(line, line->dialled, line->accepted)) line->dialler_here = false;
    } else {
      dialler_->take(parcel.bytes);
    }
  }

  // An end hears, sooner or later, that the other one left; whatever was sent before comes first.
  void notice_ends() {
    const auto over = [&](bool other_here, const std::deque<Parcel>& on_the_way) {
      return !other_here && on_the_way.empty() && draws_.one_in(quiet_ ? 2 : 10);
    };
    if (dialler_->line && over(dialler_->line->acceptor_here, dialler_->line->back)) leave(true);
    if (acceptor_->line && over(acceptor_->line->dialler_here, acceptor_->line->forth)) leave(false);
    if (dialling_ && (!dialling_->acceptor_here || draws_.one_in(quiet_ ? 200 : 20))) {
      if (draws_.one_in(2)) dialling_->forth.clear();  // or it arrives, too late
      dialling_->dialler_here = false;
      dialling_.reset();
    }
  }

  void leave(bool first) {
    Process& who = first ? *dialler_ : *acceptor_;
    if (!who.line) return;
    (first ? who.line->dialler_here : who.line->acceptor_here) = false;
    who.line.reset();
  }

  void draw_fault() {
    if (draws_.one_in(60)) {
      ++marks_["connection lost"];
      if (const auto line = draws_.one_in(2) ? dialler_->line : acceptor_->line) {
        // One end leaves and the other notices in its own time, or both at once. What an end has sent may be
        // lost with it.
        const std::uint64_t who = draws_.below(3);
        if (who != 0 && dialler_->line == line) {
          if (draws_.one_in(2)) line->forth.clear();
          leave(true);
        }
        if (who != 1 && acceptor_->line == line) {
          if (draws_.one_in(2)) line->back.clear();
          leave(false);
        }
      }
    }
    if (draws_.one_in(400)) restart(draws_.one_in(2));
    if (draws_.one_in(300)) {
      for (int i = 0; i < 40; ++i) speak(draws_.one_in(2));
    }
  }

  void restart(bool first) {
    ++marks_["restart"];
    leave(first);
    for (const auto& line : lines_) (first ? line->dialler_here : line->acceptor_here) = false;
    if (first) dialling_.reset();
    (first ? dialler_ : acceptor_) = std::make_unique<Process>(pool_, ++incarnations_, marks_);
  }

  Draws draws_;
  std::map<std::string, std::uint64_t>& marks_;
  ChunkPool pool_{53};
  std::uint64_t incarnations_ = 2;
  std::uint64_t attempts_ = 0;
  bool quiet_ = false;
  std::unique_ptr<Process> dialler_;
  std::unique_ptr<Process> acceptor_;
  std::shared_ptr<Line> dialling_;
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
                           "sent again", "duplicate", "refused: superseded"})
    EXPECT_GT(marks[mark], 20u) << mark;
}

}  // namespace
}  // namespace conclave::live
