"""The application: every page with its data, every action, static files, and errors as pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Form, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from assay.core.digests import digest_of
from assay.core.errors import AssayError, UndecidableError
from assay.core.version import __version__
from assay.web.access import Access, context_of, require_role
from assay.web.body_limit import BodyLimit
from assay.web.error_pages import error_response
from assay.web.exports import Table, csv_response, export_parameters, table_of_page, without_table
from assay.web.headers import SecurityHeaders
from assay.web.long_reads import LongRead, LongReads
from assay.web.page import Action, Context, Document, Page, PageModule, View
from assay.web.pages import MODULES
from assay.web.rendering import render
from assay.web.static_assets import StaticAssets
from assay.workflows.stores import keep_stores_open

_STATIC = Path(__file__).parent / "static"
_RELOAD = "x-reload-when-ready"  # a waiting page asks: load it anew, with its own scripts, once it is ready


def create_app(
    access: Access, modules: Sequence[PageModule] = MODULES, patience: float | None = None
) -> FastAPI:
    """Return the application over one store; after `patience` seconds a long page says how far it is."""
    app = FastAPI(title="Assay", version=__version__, docs_url=None, redoc_url=None, lifespan=_share_stores)
    pages = [page for module in modules for page in module.PAGES]
    app.state.access = access
    app.state.long_reads = LongReads(patience)
    app.state.navigation = [page for page in pages if page.label]
    app.mount("/static", StaticAssets(_STATIC), name="static")
    for page in pages:
        _add_page(app, page)
    for module in modules:
        for action in module.ACTIONS:
            _add_action(app, action)
        for document in getattr(module, "DOCUMENTS", ()):
            _add_document(app, document)
    access.install(app)
    app.add_middleware(BodyLimit)
    app.add_middleware(SecurityHeaders)
    _add_error_pages(app)
    return app


@asynccontextmanager
async def _share_stores(app: FastAPI) -> AsyncIterator[None]:
    """Keep stores open as long as the server runs."""
    with keep_stores_open():
        yield
    app.state.access.close()


def _add_page(app: FastAPI, page: Page) -> None:
    parameters = page.parameters

    def show(request: Request, values: Annotated[Any, Query()]) -> Response:
        context = context_of(request, page.role)
        value = _read_page(request, page, context, _with_path(request, values))
        if isinstance(value, LongRead):
            return _waiting_response(request, page, value)
        view = page.present(context, value, _with_path(request, values))
        return HTMLResponse(_render_page(request, page, view, values))

    def data(request: Request, values: Annotated[Any, Query()]) -> Response:
        context = context_of(request, page.role)
        return JSONResponse(page.read(context, _with_path(request, values)).to_dict())

    def export(request: Request, values: Annotated[Any, Query()]) -> Response:
        context, own = context_of(request, page.role), without_table(values, parameters)
        if page.export is not None and not values.table:
            return csv_response(Table(*page.export(context, _with_path(request, own))), request.url.path)
        value = page.read(context, _with_path(request, own))
        view = page.present(context, value, _with_path(request, own))
        shown = _render_page(request, page, view, own)
        return csv_response(table_of_page(shown, values.table), request.url.path)

    for function in (show, data):
        function.__annotations__["values"] = Annotated[parameters, Query()]
    export.__annotations__["values"] = Annotated[export_parameters(parameters), Query()]
    name = page.template.removesuffix(".html")
    checks = [require_role(page.role)]
    # The data come first: the path of a page may match theirs, too.
    app.get(page.json_path, name=f"{name}.json", dependencies=checks)(data)
    app.get(page.csv_path, name=f"{name}.csv", dependencies=checks)(export)
    app.get(page.path, name=name, response_class=HTMLResponse, dependencies=checks)(show)


def _read_page(request: Request, page: Page, context: Context, values: Any) -> Any:
    """Return what a page shows, or the read of it if that takes long."""
    if not page.is_long:
        return page.read(context, values)
    reads: LongReads = request.app.state.long_reads
    key = (request.url.path, request.url.query, context.user, context.role)
    ask = reads.wait if _RELOAD in request.headers else reads.get
    return ask(key, lambda: page.read(context, values))


def _waiting_response(request: Request, page: Page, read: LongRead) -> Response:
    """Return a page that asks each second until it can be loaded; in the place of a part, the part asks."""
    if _RELOAD in request.headers and read.future.done():
        return Response(headers={"HX-Refresh": "true"})
    is_part = "hx-request" in request.headers and _RELOAD not in request.headers
    address = f"{request.url.path}?{request.url.query}"
    view = View(page.label or "One moment")
    text = _render_page(
        request, page, view, None, "waiting.html", read=read, is_part=is_part, address=address
    )
    return HTMLResponse(text, 202)


def _with_path(request: Request, values: Any) -> Any:
    """Return the parameters with those that are part of the path."""
    return values.model_copy(update=dict(request.path_params)) if request.path_params else values


def _render_page(
    request: Request, page: Page, view: View, values: Any, template: str = "", **parts: Any
) -> str:
    return render(
        template or page.template,
        page=page,
        view=view,
        values=values,
        navigation=request.app.state.navigation,
        data_address=_data_address(request),
        context=context_of(request, page.role),
        access=request.app.state.access,
        csrf=request.app.state.access.csrf_token(request),
        **parts,
    )


def _data_address(request: Request) -> str:
    path = "/index" if request.url.path == "/" else request.url.path
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{path}.json{query}"


def _add_document(app: FastAPI, document: Document) -> None:
    def read(request: Request) -> Response:
        text = document.read(context_of(request, document.role))
        mark = f'"{digest_of(text.encode())[:32]}"'
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers={"ETag": mark})
        return Response(text, media_type=document.media_type, headers={"ETag": mark})

    checks = [require_role(document.role)]
    app.get(document.path, name=document.path, dependencies=checks)(read)


def _add_action(app: FastAPI, action: Action) -> None:
    form = action.form

    def run(request: Request, values: Annotated[Any, Form()]) -> Response:
        context = context_of(request, action.role)
        result = action.run(context, _with_path(request, values))
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"location": result.location, "message": result.message, **result.value})
        return RedirectResponse(result.location, status_code=303)

    run.__annotations__["values"] = Annotated[form, Form()]
    app.post(action.path, name=action.path, dependencies=[require_role(action.role)])(run)


def _add_error_pages(app: FastAPI) -> None:
    def assay_error(request: Request, error: Exception) -> Response:
        status = 422 if isinstance(error, UndecidableError) else 400
        return error_response(request, status, str(error))

    def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 303:
            return RedirectResponse((error.headers or {})["location"], status_code=303)
        return error_response(request, error.status_code, str(error.detail), error.headers)

    def wrong_parameters(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problems = (f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors())
        return error_response(request, 422, "; ".join(problems))

    def fault(request: Request, error: Exception) -> Response:
        return error_response(request, 500, "the log of the server says where it happened; please report it")

    handlers: dict[type[Exception], Callable[[Request, Exception], Response]] = {
        AssayError: assay_error,
        HTTPException: http_error,
        RequestValidationError: wrong_parameters,
        Exception: fault,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
