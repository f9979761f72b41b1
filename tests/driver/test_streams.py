"""Streams, events, callbacks, and streams that are captured."""

BEGIN = """
  handle module = begin(), count = function_of(module, "count"), stream, event, other;
  address at; u32 by = 1, got;
  void *params[] = {&at, &by};
  CHECK(cuMemAlloc_v2(&at, 4)); CHECK(cuMemsetD32_v2(at, 0, 1)); CHECK(cuStreamCreate(&stream, 1));
  CHECK(cuStreamCreate(&other, 1)); CHECK(cuEventCreate(&event, 0));
"""
LAUNCH = "CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));"
SHOW = 'CHECK(cuMemcpyDtoH_v2(&got, at, 4)); printf("%u ", got);'
CALLED = "static int calls; void called(void *by) { address at; calls += *(int *)by; CHECK(cuMemAlloc_v2(&at, 4)); }"


def test_work_and_callbacks_are_done_in_order(run):
    text = run(BEGIN + f"""
      int by_call = 3; float ms; handle end; CHECK(cuEventCreate(&end, 0));
      CHECK(cuEventRecord(event, stream));
      {LAUNCH} CHECK(cuLaunchHostFunc(stream, called, &by_call)); {LAUNCH}
      CHECK(cuEventRecord(end, stream)); CHECK(cuStreamWaitEvent(other, end, 0));
      CHECK(cuStreamSynchronize(stream)); CHECK(cuEventSynchronize(end)); CHECK(cuStreamQuery(other));
      CHECK(cuEventElapsedTime_v2(&ms, event, end));
      {SHOW} printf("%d %d\\n", calls, ms > 0);
    """, CALLED)  # fmt: skip
    assert text.split() == ["10", "3", "1"]


def test_handles_that_are_none_are_refused(run):
    text = run(
        BEGIN
        + """
      float ms;
      TELL(cuStreamSynchronize((handle)0x5555)); TELL(cuEventQuery(stream)); TELL(cuEventElapsedTime_v2(&ms, event, event));
      CHECK(cuStreamDestroy_v2(stream)); TELL(cuStreamSynchronize(stream));
      TELL(cuLaunchKernel(stream, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    """
    )
    assert [line.rpartition(" ")[2] for line in text.splitlines()] == ["400"] * 5


def test_a_captured_stream_is_a_graph_with_the_parameters_of_its_launches(run):
    text = run(BEGIN + f"""
      handle graph, exec, nodes[8], from[8], to[8]; size_t nodes_count = 8, edges = 8; int by_call = 2; u32 status;
      CHECK(cuStreamBeginCapture_v2(stream, 0));
      {LAUNCH} by = 10; {LAUNCH} by = 100;
      CHECK(cuEventRecord(event, stream)); CHECK(cuStreamWaitEvent(other, event, 0));
      CHECK(cuLaunchHostFunc(other, called, &by_call)); CHECK(cuStreamIsCapturing(other, &status)); printf("%u ", status);
      CHECK(cuEventRecord(event, other)); CHECK(cuStreamWaitEvent(stream, event, 0));
      CHECK(cuMemsetD32Async(at, 0, 0, stream));
      TELL(cuEventQuery(event));
      CHECK(cuStreamEndCapture(stream, &graph)); CHECK(cuStreamIsCapturing(other, &status)); printf("%u ", status);
      {SHOW}
      CHECK(cuGraphGetNodes(graph, nodes, &nodes_count)); CHECK(cuGraphGetEdges(graph, from, to, &edges));
      CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0)); CHECK(cuGraphDestroy(graph));
      for (int i = 0; i < 3; i++) CHECK(cuGraphLaunch(exec, stream));
      {SHOW} printf("%d %zu %zu\\n", calls, nodes_count, edges);
      CHECK(cuGraphExecDestroy(exec));
    """, CALLED)  # fmt: skip
    assert text.replace("cuEventQuery(event):", "").split() == ["1", "907", "0", "0", "165", "6", "4", "4"]


def test_captures_that_go_wrong(run):
    text = run(BEGIN + f"""
      handle graph;
      TELL(cuStreamBeginCapture_v2(NULL, 0)); TELL(cuStreamEndCapture(stream, &graph));
      CHECK(cuStreamBeginCapture_v2(stream, 0)); TELL(cuStreamSynchronize(stream)); TELL(cuStreamEndCapture(stream, &graph));
      CHECK(cuStreamBeginCapture_v2(stream, 0)); CHECK(cuEventRecord(event, stream));
      CHECK(cuStreamWaitEvent(other, event, 0));
      CHECK(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, other, params, NULL));
      TELL(cuStreamEndCapture(other, &graph)); TELL(cuStreamEndCapture(stream, &graph));
      {LAUNCH} {SHOW}
    """)  # fmt: skip
    got = [line.rpartition(" ")[2] for line in text.splitlines() if ": " in line]
    assert got == ["900", "401", "900", "901", "903", "904"] and text.split()[-1] == "5"
