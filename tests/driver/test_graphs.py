"""Graphs that are made node by node."""

BEGIN = """
  handle module = begin(), count = function_of(module, "count"), graph, exec, a, b, c, d;
  address at; u32 by = 1, got;
  void *params[] = {&at, &by};
  CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuGraphCreate(&graph, 0));
  struct { handle function; u32 grid[3], block[3], smem; void **params, **extra; handle kernel, context; } kernel = {
    count, {1, 1, 1}, {1, 1, 1}, 0, params, NULL, NULL, NULL};
  struct { address to; size_t pitch; u32 value, bytes; size_t width, height; } fill = {at, 0, 1000, 4, 1, 1};
"""
SHOW = 'CHECK(cuMemcpyDtoH_v2(&got, at, 4)); printf("%u ", got);'


def test_nodes_run_in_the_order_of_their_dependencies(run):
    text = run(BEGIN + f"""
      struct {{ void (*function)(void *); void *argument; }} call = {{look, (void *)at}};
      CHECK(cuGraphAddHostNode(&d, graph, NULL, 0, &call));
      CHECK(cuGraphAddKernelNode_v2(&b, graph, NULL, 0, &kernel)); by = 7;
      CHECK(cuGraphAddMemsetNode(&a, graph, NULL, 0, &fill, NULL));
      CHECK(cuGraphAddDependencies(graph, &a, &b, 1)); CHECK(cuGraphAddDependencies(graph, &b, &d, 1));
      CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
      CHECK(cuGraphLaunch(exec, NULL)); CHECK(cuGraphLaunch(exec, NULL));
      {SHOW}
      CHECK(cuGraphExecKernelNodeSetParams_v2(exec, b, &kernel)); CHECK(cuGraphLaunch(exec, NULL)); {SHOW}
      CHECK(cuGraphAddDependencies(graph, &d, &a, 1)); TELL(cuGraphInstantiateWithFlags(&exec, graph, 0));
    """, 'void look(void *at) { printf("sees %u ", *(u32 *)at); }')  # fmt: skip
    assert text.split()[:8] == ["sees", "1005", "sees", "1005", "1005", "sees", "1035", "1035"]
    assert text.endswith(": 1\n")  # a circle


def test_graphs_in_graphs_and_updates(run):
    text = run(BEGIN + f"""
      handle outer; u32 type; struct {{ u32 result; handle node, from; }} info;
      CHECK(cuMemsetD32_v2(at, 0, 1)); CHECK(cuGraphAddKernelNode_v2(&a, graph, NULL, 0, &kernel));
      CHECK(cuGraphCreate(&outer, 0)); CHECK(cuGraphAddChildGraphNode(&c, outer, NULL, 0, graph));
      CHECK(cuGraphAddChildGraphNode(&d, outer, &c, 1, graph)); CHECK(cuGraphNodeGetType(c, &type)); printf("%u ", type);
      CHECK(cuGraphInstantiateWithFlags(&exec, outer, 0)); CHECK(cuGraphLaunch(exec, NULL)); {SHOW}
      by = 2; CHECK(cuGraphAddKernelNode_v2(&b, graph, NULL, 0, &kernel));
      CHECK(cuGraphExecUpdate_v2(exec, graph, &info)); CHECK(cuGraphLaunch(exec, NULL)); {SHOW}
      CHECK(cuGraphAddMemsetNode(&b, graph, NULL, 0, &fill, NULL));
      TELL(cuGraphExecUpdate_v2(exec, graph, &info)); printf("%u\\n", info.result);
    """)  # fmt: skip
    assert text.split()[:3] == ["4", "10", "25"] and text.split()[-2:] == ["910", "2"]


def test_nodes_of_any_type_which_can_be_switched_off(run):
    text = run(BEGIN + f"""
      struct {{ u32 type, reserved[3]; union {{ typeof(kernel) kernel; typeof(fill) fill; long long room[30]; }}; }} node = {{2}};
      node.fill = fill; CHECK(cuGraphAddNode_v2(&a, graph, NULL, NULL, 0, &node));
      node.type = 0; node.kernel = kernel; CHECK(cuGraphAddNode_v2(&b, graph, &a, NULL, 1, &node));
      node.type = 8; TELL(cuGraphAddNode_v2(&c, graph, &a, NULL, 1, &node));
      CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0)); CHECK(cuGraphLaunch(exec, NULL)); {SHOW}
      CHECK(cuGraphNodeSetEnabled(exec, a, 0)); CHECK(cuGraphLaunch(exec, NULL)); CHECK(cuGraphLaunch(exec, NULL)); {SHOW}
    """)  # fmt: skip
    assert text.split("&node): ")[1].split()[:3] == ["801", "1005", "1015"]


def test_objects_of_the_program_end_with_the_last_reference(run):
    text = run("""
      handle object; int value = 5; CHECK(cuInit(0)); CHECK(cuUserObjectCreate(&object, &value, end, 2, 1));
      CHECK(cuUserObjectRelease(object, 1)); printf("between "); CHECK(cuUserObjectRelease(object, 1)); printf("\\n");
    """, 'void end(void *value) { printf("end %d", *(int *)value); }')  # fmt: skip
    assert text == "between end 5\n"
