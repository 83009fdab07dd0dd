#include "storage/drafts.hpp"

#include <future>

#include "core/ensure.hpp"

namespace conclave::storage {
namespace {

// One thread reads at a time, as the reader wants it.
class SnapshotPlace final : public Bulk::Place {
 public:
  explicit SnapshotPlace(SnapshotReader reader) : reader_(std::move(reader)) {}
  void read(std::uint64_t offset, std::span<std::uint8_t> into) const override {
    const auto got = reader_.read(offset, std::as_writable_bytes(into));
    if (!got) throw Unreadable(got.error().text);
    if (*got != into.size()) throw Unreadable("a snapshot that has become shorter");
  }

 private:
  mutable SnapshotReader reader_;
};

}  // namespace

Bulk bulk_of(SnapshotReader reader) {
  const std::uint64_t size = reader.size();
  return Bulk(std::make_shared<SnapshotPlace>(std::move(reader)), 0, size);
}

struct Draft::Job {
  Job(SnapshotWriter to, Events whom) : events(std::move(whom)) { writer.emplace(std::move(to)); }

  const Events events;
  std::optional<SnapshotWriter> writer;  // the thread's alone
  std::optional<Failure> failure;        // likewise
  // Under the mutex of all.
  std::size_t waiting = 0;
  bool wants_room = false;
  bool ending = false;
  bool given_up = false;
  std::promise<Result<SnapshotReader>>* outcome = nullptr;  // somebody waits for it
};

// ---- the owner's side

Draft::~Draft() {
  {
    const std::scoped_lock lock(drafts_.mutex_);
    if (job_->ending) return;
    job_->given_up = true;
  }
  drafts_.push({.job = job_});
}

bool Draft::has_room() const {
  const std::scoped_lock lock(drafts_.mutex_);
  job_->wants_room = job_->waiting >= most_waiting;
  return !job_->wants_room;
}

void Draft::wait_for_room() const {
  std::unique_lock lock(drafts_.mutex_);
  drafts_.room_.wait(lock, [&] { return job_->waiting < most_waiting; });
}

void Draft::append(std::vector<std::uint8_t> piece) {
  {
    const std::scoped_lock lock(drafts_.mutex_);
    ensure(!job_->ending, "what has ended does not go on");
    job_->waiting += piece.size();
  }
  drafts_.push({.job = job_, .piece = std::move(piece)});
}

void Draft::end(Fate fate) {
  {
    const std::scoped_lock lock(drafts_.mutex_);
    ensure(!std::exchange(job_->ending, true), "a draft ends once");
  }
  drafts_.push({.job = job_, .fate = fate});
}

Result<SnapshotReader> Draft::end_and_wait(Fate fate) {
  std::promise<Result<SnapshotReader>> outcome;
  job_->outcome = &outcome;
  end(fate);
  return outcome.get_future().get();
}

// ---- the thread's

Drafts::Drafts(const Snapshots& snapshots) : snapshots_(snapshots) {
  thread_ = std::thread([this] { run(); });
}

Drafts::~Drafts() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Result<std::unique_ptr<Draft>> Drafts::begin(SnapshotName name, Draft::Events events) {
  const std::uint64_t tag = name.tag;
  return begin(snapshots_.begin(std::move(name)), tag, std::move(events));
}

// It comes from its beginning: whoever sends it knows nothing of an earlier process.
Result<std::unique_ptr<Draft>> Drafts::receive(SnapshotName name, Draft::Events events) {
  if (auto done = snapshots_.drop_received(); !done) return std::unexpected(done.error());
  const std::uint64_t tag = name.tag;
  return begin(snapshots_.receive(std::move(name)), tag, std::move(events));
}

Result<std::unique_ptr<Draft>> Drafts::begin(Result<SnapshotWriter> writer, std::uint64_t tag,
                                             Draft::Events events) {
  if (!writer) return std::unexpected(writer.error());
  auto job = std::make_shared<Draft::Job>(std::move(*writer), std::move(events));
  return std::unique_ptr<Draft>(new Draft(*this, std::move(job), tag));
}

void Drafts::push(Task task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Drafts::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    carry_out(task);
    lock.lock();
  }
}

void Drafts::carry_out(Task& task) {
  Draft::Job& job = *task.job;
  bool given_up = false;
  {
    const std::scoped_lock lock(mutex_);
    given_up = job.given_up;
  }
  if (given_up) return job.writer.reset();
  if (!task.fate) {
    if (!job.failure)
      if (auto done = job.writer->append(std::as_bytes(std::span(task.piece))); !done)
        job.failure = done.error();
    bool tell = false;
    {
      const std::scoped_lock lock(mutex_);
      job.waiting -= task.piece.size();
      tell = job.wants_room && job.waiting < Draft::most_waiting && !job.given_up;
      if (tell) job.wants_room = false;
    }
    room_.notify_all();
    if (tell && job.events.room) job.events.room();
    return;
  }
  auto done = job.failure                       ? Result<SnapshotReader>(std::unexpected(*job.failure))
              : *task.fate == Draft::Fate::keep ? job.writer->finish_and_read()
                                                : job.writer->lend();
  job.writer.reset();
  if (job.outcome) return job.outcome->set_value(std::move(done));
  if (job.events.ended) job.events.ended(std::move(done));
}

}  // namespace conclave::storage
