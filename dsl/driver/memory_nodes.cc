// Nodes of graphs that allocate and free. A node has its address from the start; the memory is there from a launch on
// until a node or the program frees it.  CUDA driver API: graph management.
#include "device.h"
#include "memory.h"
#include "node_params.h"

namespace driver {

Result add_allocation(Node **made, Graph *graph, Node *const *after, u64 count, AllocationParams *params) {
  if (!params || !params->nbytes) return INVALID_VALUE;
  if (Result bad = reserve(&params->address, params->nbytes)) return bad;
  Allocation allocation = {params->address, params->nbytes};
  hold(allocation.start);
  Result result = add(made, graph, after, count, {Type::ALLOCATE, allocation});
  let_go(allocation.start);
  return result;
}

Result add_free(Node **made, Graph *graph, Node *const *after, u64 count, Address address) {
  Block *block = reserved(address);
  return block ? add(made, graph, after, count, {Type::FREE, Allocation{address, block->bytes}}) : INVALID_VALUE;
}

constexpr u64 AUTO_FREE = 1;  // CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH

// What the launch before did not free is in the way, unless the graph frees it by itself.
Result take_memory(GraphExec *exec) {
  for (Step &each : exec->steps) {
    Block *block = each.work.type == Type::ALLOCATE ? reserved(each.work.allocation.start) : nullptr;
    if (block && block->is_taken && !(exec->flags & AUTO_FREE)) return INVALID_VALUE;
  }
  for (Step &each : exec->steps) {
    bool is_taken = each.work.type == Type::ALLOCATE;
    if (!is_taken && each.work.type != Type::FREE) continue;
    Block *block = reserved(each.work.allocation.start);
    if (!block) continue;
    block->is_taken = is_taken;
    if (is_taken) make_present(block);
  }
  return SUCCESS;
}

}  // namespace driver

using namespace driver;

API(cuGraphAddMemAllocNode)(Node **made, Graph *graph, Node *const *after, u64 count, AllocationParams *params) {
  ENTER_CONTEXT;
  return add_allocation(made, graph, after, count, params);
}

API(cuGraphAddMemFreeNode)(Node **made, Graph *graph, Node *const *after, u64 count, Address address) {
  ENTER_CONTEXT;
  return add_free(made, graph, after, count, address);
}

API(cuGraphMemAllocNodeGetParams)(Node *node, AllocationParams *params) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!params || node->work.type != Type::ALLOCATE, INVALID_VALUE);
  *params = {};
  params->pool[0] = params->pool[8] = 1;  // pinned, of a device
  params->address = node->work.allocation.start, params->nbytes = node->work.allocation.nbytes;
  return SUCCESS;
}

API(cuGraphMemFreeNodeGetParams)(Node *node, Address *address) {
  ENTER;
  REFUSE_IF(!of<Node>(node), INVALID_HANDLE);
  REFUSE_IF(!address || node->work.type != Type::FREE, INVALID_VALUE);
  *address = node->work.allocation.start;
  return SUCCESS;
}

// ** what graphs use of the device

static u64 high;

static u64 used_by_graphs(bool also_away) {
  u64 sum = 0;
  for (const Block &each : blocks())
    if (each.is_of_graph && (also_away || !each.is_away)) sum += each.bytes;
  if (sum > high) high = sum;
  return sum;
}

enum : u32 { USED, USED_HIGH, RESERVED, RESERVED_HIGH };  // CUgraphMem_attribute

API(cuDeviceGetGraphMemAttribute)(int device, u32 which, u64 *value) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!value || which > RESERVED_HIGH, INVALID_VALUE);
  u64 now = used_by_graphs(which >= RESERVED);
  *value = which == USED || which == RESERVED ? now : high;
  return SUCCESS;
}

API(cuDeviceSetGraphMemAttribute)(int device, u32 which, const u64 *value) {
  ENTER;
  REFUSE_IF(device, INVALID_DEVICE);
  REFUSE_IF(!value || (which != USED_HIGH && which != RESERVED_HIGH) || *value, INVALID_VALUE);
  high = 0;
  return SUCCESS;
}

API(cuDeviceGraphMemTrim)(int device) {
  ENTER;
  return device ? INVALID_DEVICE : SUCCESS;
}
