"""Errors as pages, or as JSON where data was asked for."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from assay.web.page import Context
from assay.web.rendering import render


def error_response(request: Request, status: int, message: str, headers: Any = None) -> Response:
    """Return an error as the one who asked can read it."""
    if wants_json(request):
        return JSONResponse({"error": message}, status, headers)
    access, context = request.app.state.access, _context(request)
    page = render(
        "error.html",
        status=status,
        message=message,
        navigation=request.app.state.navigation if context else (),
        access=access,
        data_address="",
        page=None,
        view=None,
        context=context,
        csrf=access.csrf_token(request) if context else "",
    )
    return HTMLResponse(page, status, headers)


def wants_json(request: Request) -> bool:
    """Return whether data was asked for, not a page."""
    return request.url.path.endswith(".json") or "application/json" in request.headers.get("accept", "")


def _context(request: Request) -> Context | None:
    """Return who asked, None if nobody is logged in."""
    try:
        context: Context = request.app.state.access.context(request)
    except HTTPException:
        return None
    return context
