"""The static files of the package from memory: compressed once, and not sent again while unchanged."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

BUNDLES = {
    "base.css": ("style.css", "pages.css")
}  # one request instead of several that block the first paint
_SMALLEST = 500  # bytes that are worth compressing


class StaticAsset(NamedTuple):
    """One file as it is sent."""

    content: bytes
    compressed: bytes  # empty: it is not worth it
    digest: str
    media_type: str


class StaticAssets:
    """Serves the files of a flat folder, and bundles of them under names of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts = {path.name: (path.name,) for path in folder.iterdir() if path.is_file()} | BUNDLES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a file, or that the one the browser has is still right."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        parts = self._parts.get(scope["path"].removeprefix(f"{scope.get('root_path', '')}/"))
        if parts is None:
            raise HTTPException(404)
        paths = tuple(self._folder / part for part in parts)
        asset = _load(paths, tuple(path.stat().st_mtime_ns for path in paths))
        await _respond(asset, Headers(scope=scope))(scope, receive, send)


@lru_cache(maxsize=64)
def _load(paths: Sequence[Path], times: Sequence[int]) -> StaticAsset:
    """Return files as one; a file that was changed since is read again."""
    content = b"\n".join(path.read_bytes() for path in paths)
    compressed = gzip.compress(content, 9, mtime=0) if len(content) >= _SMALLEST else b""
    media_type = mimetypes.guess_type(paths[0].name)[0] or "text/plain"
    return StaticAsset(content, compressed, hashlib.sha256(content).hexdigest()[:20], media_type)


def _respond(asset: StaticAsset, headers: Headers) -> Response:
    is_compressed = bool(asset.compressed) and "gzip" in headers.get("accept-encoding", "")
    tag = f'"{asset.digest}{"-gzip" if is_compressed else ""}"'
    sent = {"ETag": tag, "Vary": "Accept-Encoding"}
    if tag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=sent)
    if is_compressed:
        sent["Content-Encoding"] = "gzip"
    return Response(asset.compressed if is_compressed else asset.content, 200, sent, asset.media_type)
