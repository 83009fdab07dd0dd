kv_twin(compacts_too_much history
  "if (record->is_deletion()) drop_first(key);"
  "drop_first(key);")
kv_twin(counts_deletions_as_live history
  "  if (record->is_deletion())\n    superseded_"
  "  if (false)\n    superseded_")
kv_twin(sweeps_marks_that_are_watched history
  "through < compacted_ ? compacted_ : compacted_ + 1"
  "compacted_ + 1")
kv_twin(forgets_that_a_mark_was_swept history
  "compacted_ > 1 && log_begin() > Place{compacted_, 0} ? compacted_ + 1 : compacted_"
  "compacted_")
kv_twin(keeps_a_lost_digest history
  "digest_ -= record->digest();"
  "")
kv_twin(reads_a_revision_too_late history
  "return bound < other->mod; });\n    found"
  "return bound + 1 < other->mod; });\n    found")
kv_twin(leases_run_from_the_last_step leases
  "{ restore(id, ttl, 0); }"
  "{ restore(id, ttl, clock_ms_ + static_cast<std::uint64_t>(ttl) * 1000); }")
kv_twin(believes_deposed_leaders store
  "if (tick.term != applied_.term) return Done{};"
  "")
kv_twin(counts_sleep_as_time store
  "std::min(tick.elapsed_ms, longest_step_ms)"
  "tick.elapsed_ms")
kv_twin(keeps_the_old_lease_too store
  "leases_.detach(before, *event.now->key);"
  "")
kv_twin(lets_the_youngest_in keys
  "if (top.oldest >= least) return;"
  "if (found && top.oldest <= least) return;")
kv_twin(forgets_who_is_next lines
  "moved.insert(line->first);"
  "")
kv_twin(watchers_lose_what_they_get_stuck_at watches
  "watcher.next = cursor.at;\n    return stall(watcher);"
  "watcher.next = cursor.at + 1;\n    return stall(watcher);")
kv_twin(watchers_lose_what_is_not_taken watches
  "watcher->next = what.from;"
  "")
kv_twin(watchers_are_told_twice_when_they_catch_up watches
  "if (cursor.at < watcher.next) return;"
  "")
kv_twin(watchers_catch_up_in_the_midst_of_a_revision watches
  "return next > news_.at || (next == news_.at && !news_.is_amid());"
  "return next >= news_.at;")
kv_twin(watchers_miss_that_a_compaction_was_faster watches
  "if (next < *cursor.overtaken && !at->stream->is_full) {"
  "if (next + 1 < *cursor.overtaken && !at->stream->is_full) {")
kv_twin(stuck_watchers_are_looked_at_with_every_put watches
  "leave(watcher);\n    watcher.next = cursor.at;\n    return stall(watcher);"
  "watcher.next = cursor.at;\n    return;")
kv_twin(every_old_watcher_has_a_scan_of_its_own watches
  "watcher.next = std::max(watcher.next, cursor.at);\n      settle(watcher);"
  "watcher.next = std::max(watcher.next, cursor.at);\n      settle(watcher);\n      if (cursor.tree().root()) cursor.stop_at(cursor.tree().first()->next);")
kv_twin(watchers_who_wait_for_room_need_nothing watches
  "needed_so_far_ = std::min(needed_so_far_, at->second->next());"
  "continue;")
kv_twin(watchers_who_come_to_wait_need_nothing watches
  "needed_so_far_ = std::min(needed_so_far_, watcher.next);"
  "")
kv_twin(watchers_who_came_later_are_forgotten watches
  "stream.parties[watcher.party] = {};"
  "stream.parties = {};")
kv_twin(watchers_need_for_ever_what_they_needed watches
  "needed_ = std::exchange(needed_so_far_, never);"
  "needed_ = needed_so_far_;")
kv_twin(limits_one_too_early read
  "result.more = found.size() > limit;"
  "result.more = found.size() >= limit;")
kv_twin(decides_nested_branches_alike read
  "for (const Op& op : succeeds ? txn.success : txn.failure)\n    if (const auto* nested"
  "for (const Op& op : txn.success)\n    if (const auto* nested")
kv_twin(snapshots_of_the_present snapshot
  "if (record.mod > header_.revision) break;"
  "")
kv_twin(snapshots_forget_what_is_swept_meanwhile snapshot
  "!History::is_seen_by(reader_, record)"
  "record.dropped != 0")
kv_twin(readings_lose_what_is_compacted_meanwhile history
  "if (is_held(*record)) return;"
  "")
kv_twin(readings_see_the_present reading
  "const bool is_now = then == revision_ && is_fresh();"
  "const bool is_now = then == revision_;")
kv_twin(looks_at_any_number_of_keys read
  "if (reach_of(txn) > bounds_.reach) return Error::too_many_operations;"
  "")
kv_twin(answers_with_any_number_of_bytes read
  "if (answer_of(taken) > bounds_.answer) return Error::answer_too_large;"
  "")
kv_twin(forgets_what_it_puts_itself read
  "if (KeyRange{range->key, range->range_end}.contains(one->key))"
  "if (false)")
kv_twin(leases_take_no_space store
  "return history_.bytes() + history_.keys().size() * sizeof(Key) + leases_.bytes();"
  "return history_.bytes();")
kv_twin(counts_keys_of_leases_that_are_gone leases
  "attached_ -= found->second.keys.erase(&key);"
  "found->second.keys.erase(&key);")
kv_twin(loses_keys_when_the_table_has_grown keys
  "if (buckets_ == 2 * level_) level_ = buckets_;"
  "")
kv_twin(leaves_keys_in_the_bucket_that_was_split keys
  "      key->next_in_bucket = added;\n      added = key;"
  "")
kv_twin(takes_second_versions_for_first_ones record
  "(change.create != change.mod || change.version != 1);"
  "change.version > 2;")
kv_twin(counts_a_deletion_back_into_the_state history
  "key.older.push_back(key.newest, key.newest->dropped != 0);"
  "key.older.push_back(key.newest, false);")
kv_twin(moves_versions_and_not_their_numbers older_versions
  "block_->dropped -= block_->gone;"
  "")
kv_twin(reads_what_was_cut_twice snapshot
  "return *taken - before;"
  "return *taken - before - 1;")
kv_twin(forgets_the_lease_of_the_last_key snapshot
  "return end_key() && store_->history_.finish_restoring();"
  "return store_->history_.finish_restoring();")
kv_twin(leaves_restored_changes_in_the_order_of_keys history
  "const std::size_t place = ends[revision] + record->sub - first;"
  "const std::size_t place = static_cast<std::size_t>(std::ranges::find(log_, nullptr) - log_.begin());")
