/* Lamport's bakery on atomic registers, step for step as src/protocols/registers/bakery.hpp: the client's call
 * or one access to one register is one step. A read that finds it has to wait is a step too; it leads back to
 * the same state.
 *
 * Process i of ours is _pid = i - 1 here, and j counts from 0. Labels are places in the program text, named
 * as in ours. What follows from the rest is left out: the ticket that a process remembers is what its own
 * register holds, and the phase of its client follows from the label. At D3 `greatest` still stands, one less than
 * the ticket; ours forgets it at D2.
 * TOKENS adds the fencing token of a grant, labels F1 and F2. */
#ifndef N
#define N 3
#endif
#ifndef ENTRIES
#define ENTRIES 1
#endif

#define LAST (j == N - 1)
#define MUST_WAIT (num[j] != 0 && (num[j] < num[_pid] || (num[j] == num[_pid] && j < _pid)))

bool choosing[N];
byte num[N];
bool occupied; /* for EM1 */
#ifdef TOKENS
byte entries;
#endif

inline look() {
  greatest = (greatest > num[j] -> greatest : num[j])
}

inline enter() {
  assert(!occupied);
  occupied = true
}

active [N] proctype process() {
  unsigned wishes : 3 = ENTRIES;
  unsigned j : 3;
  byte greatest;
#ifdef TOKENS
  byte seen;
#endif

end:
  do
  :: d_step { wishes > 0; wishes-- }; /* Acquire */
     choosing[_pid] = true;           /* NC */
     do                               /* D1 */
     :: d_step { !LAST; look(); j++ }
     :: d_step { LAST; look(); j = 0 }; break
     od;
     num[_pid] = greatest + 1; /* D2; no d_step, because no d_step may follow a loop */
     d_step { choosing[_pid] = false; greatest = 0 }; /* D3 */
B1:  do
     :: choosing[j]
     :: !choosing[j]; break
     od;
     do /* B2 */
     :: MUST_WAIT
     :: d_step { !MUST_WAIT && !LAST; j++ }; goto B1
#ifdef TOKENS
     :: d_step { !MUST_WAIT && LAST; j = 0 }; break
     od;
     seen = entries;                                 /* F1 */
     d_step { entries = seen + 1; seen = 0; enter() }; /* F2 */
#else
     :: d_step { !MUST_WAIT && LAST; j = 0; enter() }; break
     od;
#endif
     occupied = false; /* Release */
     num[_pid] = 0     /* CS */
  od
}
