// The successors of a state when nothing goes wrong and no time passes: so are most searches, and this is
// where they spend their time. `Expansion` can do all of it too, and more.
#include "check/labels.hpp"
#include "check/network.hpp"

namespace conclave::check {

template <bool labelled>
class Network::Calm {
 public:
  Calm(Network& net, const Id* state, const Sleep& sleep, Worker& worker, Successors& out)
      : net_(net),
        n_(net.n_),
        state_(state),
        words_(worker.state.data()),
        worker_(worker),
        out_(out),
        labels_(net.n_, net.rules_.fifo, labelled, sleep) {}

  Look run() {
    Look look = {.content = true};
    copy_words(words_, state_, net_.width_);
    base_ = net_.locals_.judge_print(state_[net_.judge_at_]);
    for (std::uint32_t i = 0; i < n_; ++i) {
      selves_[i] = &net_.locals_.facts(state_[i]);
      boxes_[i] = &net_.facts_[state_[n_ + i]];
      plus(base_, selves_[i]->print);
      plus(base_, boxes_[i]->print);
      if (!selves_[i]->face.content) look.content = false;
    }
    for (std::uint32_t i = 0; i < n_; ++i) {
      const Face& face = selves_[i]->face;
      if (face.wants) command(i, face);
      deliver(i);
      if (face.due != 0) look.bounded = true;
    }
    look.final = !progress_;
    return look;
  }

 private:
  void command(std::uint32_t i, const Face& face) {
    progress_ = true;
    const Move move = {Move::Kind::command, static_cast<std::uint8_t>(i), labels_.of_client(i), !face.presses,
                       0};
    if (sleeps(move.label)) return out_.skip(1);
    act(i, net_.step(state_[i], Input::command, 0), nullptr, move);
    if constexpr (labelled) labels_.close(move.label, true);
  }

  void deliver(std::uint32_t i) {
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
      const Step& outcome = net_.step(state_[i], Input::deliver, option.letter);
      heard = heard || outcome.happening != 0;
      act(i, outcome, &option, move);
    }
    if constexpr (labelled) labels_.close(open, heard);
  }
  bool sleeps(std::uint8_t label) const { return labelled && labels_.sleeps(label); }

  // A process changes, takes a letter or not, posts some, and perhaps the judge hears of it. The words of the
  // state are changed, shown and changed back.
  void act(std::uint32_t i, const Step& outcome, const Option* taken, const Move& move) {
    if (outcome.complaint != 0) [[unlikely]]
      return complain(outcome.complaint, move);
    Fingerprint print = base_;
    minus(print, selves_[i]->print);
    plus(print, outcome.print);
    words_[i] = outcome.local;
    if (taken) {
      minus(print, boxes_[i]->print);
      plus(print, net_.facts_[taken->rest].print);
      words_[n_ + i] = taken->rest;
    }
    const std::span<const Parcel> posted = outcome.posted();
    for (const Parcel parcel : posted) {
      Id& word = words_[n_ + parcel.to()];
      minus(print, net_.facts_[word].print);
      const Post& after = net_.post(word, parcel.letter());
      plus(print, after.print);
      word = after.inbox;
    }
    Id& judge = words_[net_.judge_at_];
    if (outcome.happening != 0) {
      minus(print, net_.locals_.judge_print(judge));
      judge = net_.judged(worker_, judge, outcome.happening);
      plus(print, net_.locals_.judge_print(judge));
    }
    out_.add(words_, print, move, labels_.after(i, outcome.happening != 0, posted));
    words_[i] = state_[i];
    words_[n_ + i] = state_[n_ + i];
    for (const Parcel parcel : posted) words_[n_ + parcel.to()] = state_[n_ + parcel.to()];
    judge = state_[net_.judge_at_];
  }
  [[gnu::noinline]] void complain(std::uint32_t complaint, const Move& move) {
    const std::lock_guard hold(net_.lock_);
    out_.complain(move, net_.locals_.complaint(complaint));
  }

  Network& net_;
  const std::uint32_t n_;
  const Id* const state_;
  Id* const words_;
  Worker& worker_;
  Successors& out_;
  Labels labels_;
  std::array<const Locals::Facts*, most_nodes> selves_;
  std::array<const InboxFacts*, most_nodes> boxes_;
  Fingerprint base_;
  bool progress_ = false;
};

Look Network::expand_calmly(const Id* state, const Sleep& sleep, Worker& worker, Successors& out) {
  if (labels_fit_ && !sleep.never) return Calm<true>(*this, state, sleep, worker, out).run();
  return Calm<false>(*this, state, sleep, worker, out).run();
}

}  // namespace conclave::check
