"""A web server on this machine, an empty cache, and the real data where it is at hand."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

BESIDE_THE_REPOSITORY = Path(__file__).parents[2].parent / "shared" / "data"
# Looked up before any test hides the variable.
GIVEN = os.environ.get("CONFTR_DATA")


@dataclass
class Site:
    """What the server offers and how it misbehaves; `asked` records each path and its Range."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    ranges: bool = True
    break_after: int | None = None
    pause: float = 0.0

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        self.asked.append((handler.path, wanted))
        contents = self.files.get(handler.path)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if contents is None:
            return handler.send_error(404)
        if self.ranges and start >= len(contents) > 0 and wanted:
            return handler.send_error(416)
        partial = self.ranges and wanted is not None
        return self._send(handler, contents[start:] if partial else contents, partial)

    def _send(self, handler: BaseHTTPRequestHandler, body: bytes, partial: bool) -> None:
        handler.send_response(206 if partial else 200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        sent = body if self.break_after is None else body[: self.break_after]
        step = max(1, len(sent) // 20) if self.pause else max(1, len(sent))
        for i in range(0, len(sent), step):
            handler.wfile.write(sent[i : i + step])
            handler.wfile.flush()
            time.sleep(self.pause)


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # The test may have killed the client.
            with suppress(ConnectionError):
                offered.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    offered = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield offered
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the machine's own data is seen or changed."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONFTR_CACHE", str(folder))
    monkeypatch.delenv("CONFTR_DATA", raising=False)
    return folder


@pytest.fixture(scope="session")
def real_folder() -> Path | None:
    """The folder of real data: CONFTR_DATA, or shared/data beside the repository."""
    if GIVEN:
        return Path(GIVEN)
    return BESIDE_THE_REPOSITORY if BESIDE_THE_REPOSITORY.is_dir() else None
