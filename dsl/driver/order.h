// What comes after what. The work of a stream is a line of pieces, one after another; a clock says how many pieces of
// each line come before something. The program has a clock too: what it has waited for.
#pragma once
#include "streams.h"

namespace driver {

// Whether the order is followed: races between streams are looked for, or a seed chooses the order.
bool follows_order();
u64 seed();  // 0: none
bool looks_for_races();
bool follows_writes();  // whether it is kept which bytes of device memory were written

// Whether work may overlap at all: there is a stream beside the legacy default stream, or a graph.
extern bool may_overlap;

// The clock of the program, and of all work there is.
extern Clock program_clock, all_clock;

// Let the next piece of a stream come after what the program has waited for, and after the streams that the legacy
// default stream makes it wait for (CUDA Programming Guide, default stream).
void catch_up(Stream *stream);

// The next piece of a stream, which is part of `stream->seen` from now on.
Point next_piece(Stream *stream);

// Let what follows in a stream come after more.
void come_after(Stream *stream, const Clock &clock);

// A line for pieces that come after `clock`: one that nobody uses and of which all comes before, or a new one.
u32 take_line(const Clock &clock);
void give_line_back(u32 line);
Point next_of(u32 line);
bool is_last(const Point &point);  // of its line

}  // namespace driver
