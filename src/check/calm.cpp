// The successors of a state when nothing goes wrong and no time passes: so are most searches, and this is
// where they spend their time. `Expansion` can do all of it too, and more.
#include "check/labels.hpp"
#include "check/network.hpp"

namespace conclave::check {

// `nodes`: how many processes there are, if the compiler knows it, else 0.
template <bool labelled, std::uint32_t nodes>
class Network::Calm {
 public:
  Calm(Network& net, const Id* state, const Sleep& sleep, Worker& worker, Successors& out)
      : net_(net),
        n_(net.n_),
        state_(state),
        words_(worker.state.data()),
        out_(out),
        labels_(net, sleep),
        base_(WordSum::of(state, 2 * size() + 1)) {}

  [[gnu::always_inline]] Look run() {
    Look look = {.content = true};
    copy_words(words_, state_, 2 * size() + 1);
    for (std::uint32_t i = 0; i < size(); ++i) boxes_[i] = &net_.facts_[state_[size() + i]];
    for (std::uint32_t i = 0; i < size(); ++i) {
      const Face& face = net_.locals_.face(state_[i]);
      if (!face.content) look.content = false;
      if (face.due != 0) look.bounded = true;
      const auto answers = net_.steps_.of(state_[i]);
      if (face.wants) command(i, answers, face);
      deliver(i, answers);
    }
    look.final = !progress_;
    return look;
  }

 private:
  using Answers = Remembered<Step>::Answers;
  // Who does not look at labels does not make any.
  struct Unlabelled {
    Unlabelled(const Network&, const Sleep&) {}
    std::uint8_t of_client(std::uint32_t) const { return Move::no_label; }
    std::uint64_t after(std::uint32_t, bool, std::span<const Parcel>) const { return 0; }
  };
  struct Labelled : Labels {
    Labelled(const Network& net, const Sleep& sleep) : Labels(net.n_, net.rules_.fifo, true, sleep) {}
  };

  std::uint32_t size() const { return nodes > 0 ? nodes : n_; }

  [[gnu::always_inline]] void command(std::uint32_t i, const Answers& answers, const Face& face) {
    progress_ = true;
    const Move move = {Move::Kind::command, static_cast<std::uint8_t>(i), labels_.of_client(i), !face.presses,
                       0};
    if (sleeps(move.label)) return out_.skip(1);
    act(i, net_.step(answers, state_[i], Input::command, 0), state_[size() + i], move);
    if constexpr (labelled) labels_.close(move.label, true);
  }

  [[gnu::always_inline]] void deliver(std::uint32_t i, const Answers& answers) {
    std::uint8_t open = Move::no_label;
    bool heard = false;
    for (const Option& option : boxes_[i]->options()) {
      progress_ = true;
      Move move = {Move::Kind::deliver, static_cast<std::uint8_t>(i), Move::no_label, false, option.letter};
      if constexpr (labelled) {
        move.label = labels_.of_link(net_.locals_.envelope(option.letter).from, i);
        if (move.label != open) {
          labels_.close(open, heard);
          open = move.label;
          heard = false;
        }
        if (sleeps(move.label)) {
          out_.skip(1);
          continue;
        }
      }
      if (act(i, net_.step(answers, state_[i], Input::deliver, option.letter), option.rest, move))
        heard = true;
    }
    if constexpr (labelled) labels_.close(open, heard);
  }
  bool sleeps([[maybe_unused]] std::uint8_t label) const {
    if constexpr (labelled) return labels_.sleeps(label);
    return false;
  }

  // A process changes, has this left in its inbox, posts some letters, and perhaps the judge hears of it,
  // which is returned. The words of the state are changed, shown and changed back.
  [[gnu::always_inline]] bool act(std::uint32_t i, Step step, Id rest, const Move& move) {
    const Effect& effect = net_.effects_[step.effect];
    const bool heard = effect.happening != 0;
    if (effect.complaint != 0) [[unlikely]] {
      complain(effect.complaint, move);
      return heard;
    }
    WordSum sum = base_;
    sum.change(i, state_[i], step.local);
    sum.change(size() + i, state_[size() + i], rest);
    words_[i] = step.local;
    words_[size() + i] = rest;
    const std::span<const Parcel> posted = effect.posted();
    for (const Parcel parcel : posted) post(parcel, sum);
    const std::uint32_t judge_at = 2 * size();
    if (heard) {
      words_[judge_at] = net_.judged(state_[judge_at], effect.happening);
      sum.change(judge_at, state_[judge_at], words_[judge_at]);
    }
    out_.add(words_, sum, move, labels_.after(i, heard, posted));
    words_[i] = state_[i];
    words_[size() + i] = state_[size() + i];
    for (const Parcel parcel : posted) words_[size() + parcel.to()] = state_[size() + parcel.to()];
    words_[judge_at] = state_[judge_at];
    return heard;
  }
  [[gnu::always_inline]] void post(Parcel parcel, WordSum& sum) {
    const std::uint32_t to = parcel.to();
    Id& word = words_[size() + to];
    const Id before = word;
    word = before == state_[size() + to] ? net_.post(*boxes_[to], before, parcel.letter())
                                         : net_.post(before, parcel.letter());
    sum.change(size() + to, before, word);
  }
  [[gnu::noinline]] void complain(std::uint32_t complaint, const Move& move) {
    const std::lock_guard hold(net_.lock_);
    out_.complain(move, net_.locals_.complaint(complaint));
  }

  Network& net_;
  const std::uint32_t n_;
  const Id* const state_;
  Id* const words_;
  Successors& out_;
  [[no_unique_address]] std::conditional_t<labelled, Labelled, Unlabelled> labels_;
  std::array<const InboxFacts*, most_nodes> boxes_;
  const WordSum base_;
  bool progress_ = false;
};

Look Network::expand_calmly(const Id* state, const Sleep& sleep, Worker& worker, Successors& out) {
  if (labels_fit_ && !sleep.never) return Calm<true, 0>(*this, state, sleep, worker, out).run();
  switch (n_) {
    case 2: return Calm<false, 2>(*this, state, sleep, worker, out).run();
    case 3: return Calm<false, 3>(*this, state, sleep, worker, out).run();
    case 4: return Calm<false, 4>(*this, state, sleep, worker, out).run();
    default: return Calm<false, 0>(*this, state, sleep, worker, out).run();
  }
}

}  // namespace conclave::check
