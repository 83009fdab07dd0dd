# Of the connections of clients.

# A stream that found its connection full was told of room only when bytes of its own had left.
twin_line(forgets_silent_watchers rpc/message_stream.cpp
  "|| session_->crowded();"
  "||
      (twin(\"forgets_silent_watchers\")
           ? session_->pending_output() >= (1u << 20)
           : session_->crowded());")
twin_line(forgets_silent_watchers rpc/session.cpp
  "stream.wants_drained_ = true;\n  queue_if_drained(stream);"
  "stream.wants_drained_ = true;\n  if (!twin(\"forgets_silent_watchers\")) queue_if_drained(stream);")

# Two hundred PINGs were all that a connection might ever send.
twin_line(counts_pings_for_ever rpc/session.cpp
  "idle_frames_(limits.idle_burst, limits.idle_per_second)"
  "idle_frames_(limits.idle_burst, twin(\"counts_pings_for_ever\") ? 0 : limits.idle_per_second)")

# While much waited on a connection, answers were dropped, of what had been done.
twin_line(drops_answers rpc/message_stream.cpp
  "if (bytes <= most) return true;"
  "const bool drops = twin(\"drops_answers\") && session_ != nullptr && session_->pending_output() >= (1u << 20);
  if (bytes <= most && !drops) return true;")

# Whatever clients make a member keep: there was a bound for each connection, and none for all.
twin_line(counts_no_memory rpc/machine.cpp
  "client_memory > 0 ? client_memory"
  "twin(\"counts_no_memory\") ? (std::size_t{1} << 40) : client_memory > 0 ? client_memory")

# The first bytes of a connection, by which it is known what it speaks, were kept as long as it lasted.
twin_line(keeps_first_words rpc/server_connection.cpp
  "std::exchange(sniffed_, {});"
  "twin(\"keeps_first_words\") ? sniffed_ : std::exchange(sniffed_, {});")

# Of the descriptors that a process may have, it had those that the shell had given it.
twin_line(leaves_the_soft_limit rpc/machine.cpp
  "limit.rlim_cur < limit.rlim_max"
  "limit.rlim_cur < limit.rlim_max && !twin(\"leaves_the_soft_limit\")")

# Whoever came first had all places, for as long as it liked.
twin_line(gives_one_address_all rpc/server.cpp
  "if (greediest.places <= newcomer.places + 1) return false;"
  "if (twin(\"gives_one_address_all\") || greediest.places <= newcomer.places + 1) return false;")

# Of clocks.

# Commands were numbered by the wall clock, whatever the log had already.
twin_line(numbers_by_the_clock cluster/server.cpp
  "numbers_ = Numbers(*start);"
  "numbers_ = Numbers(*start);
  const auto clock = std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
  if (twin(\"numbers_by_the_clock\")) numbers_ = Numbers(static_cast<std::uint64_t>(clock) >> 10, 10);
  if (twin(\"takes_numbers_for_names\")) numbers_ = Numbers(static_cast<std::uint64_t>(clock) >> 20, 20);")
twin_line(numbers_by_the_clock cluster/numbers.cpp
  "if (open_.empty() || open_.front().serial != entry.serial) return Whose::nobodys;"
  "if (twin(\"takes_numbers_for_names\")) return Whose::ours;
  if (open_.empty() || open_.front().serial != entry.serial)
    return twin(\"numbers_by_the_clock\") ? Whose::earlier : Whose::nobodys;")

# What a leader tells of the time was measured by the wall clock.
twin_line(counts_by_the_wall_clock etcd/machine.cpp
  "std::chrono::duration_cast<std::chrono::milliseconds>(now - ticked_);"
  "std::chrono::duration_cast<std::chrono::milliseconds>(
        now - ticked_ + (twin(\"counts_by_the_wall_clock\") ? leap() : std::chrono::nanoseconds(0)));")
twin_line(counts_by_the_wall_clock etcd/machine.cpp
  "void Machine::look_at_clock() {"
  "static std::chrono::nanoseconds leap() {
  static std::chrono::nanoseconds before = {};
  const auto off =
      std::chrono::system_clock::now().time_since_epoch() - std::chrono::steady_clock::now().time_since_epoch();
  return off - std::exchange(before, off);
}

void Machine::look_at_clock() {")

# Of history.

# It was kept until somebody compacted, and nobody did.
twin_line(keeps_history_for_ever etcd/compactor.cpp
  "if (!would_free(store, until)) return {};"
  "if (twin(\"keeps_history_for_ever\") || !would_free(store, until)) return {};")

# Whoever compacts by itself does not know the watchers of the others, nor asks.
twin_line(compacts_what_watchers_need etcd/compactor.cpp
  "  goal = std::min(goal, needed_ - 1);"
  "  if (twin(\"compacts_what_watchers_need\"))
    goal = wanted(store, now);
  else
    goal = std::min(goal, needed_ - 1);")

# Of reads.

# A new leader asked its own questions of nobody, whoever proposed something put off the time to ask again, and rounds that
# nobody waited for any more kept others from beginning.
twin_line(asks_only_once protocols/raft/raft.hpp
  "if (asked.empty()) {"
  "if (asked.empty() || twin(\"asks_only_once\")) {")
twin_line(asks_only_once protocols/raft/raft.hpp
  "if (wanted.size() + asked.size() == 1) wait_for_answers(out);\n    submit("
  "if (wanted.size() + (twin(\"asks_only_once\") ? 0 : asked.size()) == 1) wait_for_answers(out);\n    submit(")
twin_line(asks_only_once etcd/machine.cpp
  "static_cast<std::size_t>(awaited) < most_rounds"
  "(twin(\"asks_only_once\") ? rounds_.size() : static_cast<std::size_t>(awaited)) < most_rounds")

# Of the links.

# What came was opened and believed, whoever had sealed it.
twin_line(believes_any_frame live/seal.cpp
  "if (!genuine) {"
  "if (!genuine && !twin(\"believes_any_frame\")) {")

# A transaction that only reads was carried out by every member, in one go, however many keys it looked at.
twin_line(reads_in_the_log etcd/kv_service.cpp
  "if (only_reads(request)) return"
  "if (!twin(\"reads_in_the_log\") && only_reads(request)) return")
twin_line(reads_in_the_log etcd/kv_service.cpp
  "if (keys <= heavy_keys &&"
  "if ((keys <= heavy_keys || twin(\"reads_in_the_log\")) &&")
twin_line(reads_in_the_log kv/read.cpp
  "if (reach_of(txn) > bounds_.reach)"
  "if (reach_of(txn) > bounds_.reach && !twin(\"reads_in_the_log\"))")

# An answer was there as a whole before its first byte left, and had no bound.
twin_line(makes_whole_answers etcd/answers.cpp
  "{.records = most / around_record, .bytes = most}"
  "{.records = most / around_record, .bytes = twin(\"makes_whole_answers\") ? everything : most}")
twin_line(makes_whole_answers etcd/answers.cpp
  "const std::size_t bytes = work->pieces->bytes();"
  "const std::size_t bytes = work->pieces->bytes();
  if (twin(\"makes_whole_answers\")) work->pieces->write(text_, everything);")

# Whoever saved the state had a copy of it.
twin_line(copies_states etcd/downloads.cpp
  "    ++of.under_way_;\n"
  "    ++of.under_way_;
    if (twin(\"copies_states\"))
      state = std::make_shared<State>(State{{state->saved.index, state->saved.state.whole()}});\n")

# Commands about places had no turns: what a client wanted or left was proposed at once.
twin_line(has_no_turns etcd/line_service.cpp
  "while (under_way_ < most_under_way && !errands_.empty())"
  "while ((under_way_ < most_under_way || twin(\"has_no_turns\")) && !errands_.empty())")

# What lived with a connection stayed.
twin_line(keeps_what_lived_with_connections etcd/line_service.cpp
  "if (!sessions_by_connection_.contains(connection)) return;"
  "if (!sessions_by_connection_.contains(connection) || twin(\"keeps_what_lived_with_connections\")) return;")

# A renewal was an entry of the log, whatever it was of.
twin_line(renews_nothing_in_the_log etcd/machine.cpp
  "return found && !kv::Leases::is_fresh(*found);"
  "return twin(\"renews_nothing_in_the_log\") || (found && !kv::Leases::is_fresh(*found));")

# Of the disk.

# A process without descriptors, or a kernel without memory, had a broken disk.
twin_line(takes_scarcity_for_failure storage/failure.cpp
  "if (is_full(error)) return FailureKind::no_space;"
  "if (is_full(error)) return FailureKind::no_space;\n  if (twin(\"takes_scarcity_for_failure\")) return FailureKind::io;")
twin_line(takes_scarcity_for_failure storage/directory.cpp
  "file(from), errno));\n  return sync_directory(listing_);"
  "file(from), errno));
  if (twin(\"takes_scarcity_for_failure\")) return sync_directory(path_);  // opened for it
  return sync_directory(listing_);")

# What a signal had interrupted was not done again.
twin_line(gives_up_when_interrupted storage/uninterrupted.hpp
  "while (result < 0 && errno == EINTR)"
  "while (result < 0 && errno == EINTR && !twin(\"gives_up_when_interrupted\"))")

# A last segment cut short was one that had ended there.
twin_line(believes_short_files storage/segmented_log.cpp
  "if (bytes.size() < head->bytes)"
  "if (bytes.size() < head->bytes && !twin(\"believes_short_files\"))")
twin_line(believes_short_files storage/segmented_log.cpp
  "if (!watermark_ || watermark_->position().segment != sequence"
  "if (twin(\"believes_short_files\") || !watermark_ || watermark_->position().segment != sequence")

# What was flushed was only written.
twin_line(does_not_flush storage/file.cpp
  "if (uninterrupted([&] { return ::fdatasync(descriptor_); }) != 0)"
  "if (twin(\"does_not_flush\")) return {};\n  if (uninterrupted([&] { return ::fdatasync(descriptor_); }) != 0)")

# Of a write that took half of the bytes, the rest was forgotten.
twin_line(writes_half storage/file.cpp
  "const auto count = static_cast<std::size_t>(put);"
  "const auto count =
        twin(\"writes_half\") ? first.size() + second.size() : static_cast<std::size_t>(put);")
set(TWIN_USERS storage/directory.cpp storage/segment_supply.cpp cluster/server.cpp)
