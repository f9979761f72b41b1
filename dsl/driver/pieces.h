// Pieces of work in the order that CUDA gives them. Without a seed each is done when it is added. With one it is done
// when something needs it, in an order that the seed chooses among those that nothing orders.
#pragma once
#include "accesses.h"
#include "graphs.h"
#include "order.h"

namespace driver {

struct Piece {
  Work work;
  How how;
  Point point;
  Clock before;
  Context *context;
  u32 stream;        // its number
  bool is_blocking;  // whether the stream waits for the legacy default stream
  bool is_running;
  Bytes staged;  // of pageable memory, which may change before the copy is made
};

// What the program waits for when it adds a copy or a fill. CUDA driver API, API synchronization behavior.
enum class Waits : u32 { NOT, BEFORE, UNTIL_DONE };
Waits waits_of(const Work &work, How how);

Result add_piece(Stream *stream, const Work &work, How how);
Result add_graph(Stream *stream, GraphExec *exec);

void wait_for(const Clock &clock);      // the program waits
bool has_ended(const Clock &clock);     // the program asks; what is missing goes on
Result wait_for_all(Context *context);  // and answers an error of the context

// Tell the helper of a piece before it is done. A race with another one ends the context.
void tell_piece(const Piece &piece, bool is_known);

}  // namespace driver
