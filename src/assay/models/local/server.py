"""Serve a model of this machine on loopback, by OpenAI's protocol, over llama.cpp."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.models.local.catalogue import LocalModel

HOST = "127.0.0.1"


class ServerSettings(NamedTuple):
    """How a model is served."""

    port: int = 0  # 0: any free port
    threads: int = 0  # 0: as many as llama.cpp chooses
    context: int = 4096  # tokens of one request
    clients: int = 1  # requests that are answered at the same time


class LocalServer:
    """A model that is being served until the process ends or the server is closed."""

    def __init__(self, model: LocalModel, settings: ServerSettings) -> None:
        if find_spec("xllamacpp") is None:
            raise MissingExtraError("xllamacpp", f"serving {model.name}", "llm")
        if not model.is_present:
            raise InputError(
                f"{model.name} is not on this machine: `assay models fetch {model.name}` gets it"
            )
        self.model = model
        self._server: Any = _start(model, settings)

    @property
    def url(self) -> str:
        """The address for OpenAI's protocol."""
        return f"{self._server.listening_address.rstrip('/')}/v1"

    def close(self) -> None:
        """Stop serving."""
        self._server = None


def _start(model: LocalModel, settings: ServerSettings) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model.path)
    parameters.model_alias = {model.name}
    parameters.hostnames = [HOST]
    parameters.port = settings.port
    parameters.cors_origins = f"http://{HOST}"  # pages of other sites must not use the model
    parameters.n_parallel = settings.clients
    parameters.n_ctx = settings.context * settings.clients
    parameters.n_threads_http = settings.clients + 2
    parameters.ui = False
    parameters.verbosity = -1
    if settings.threads:
        parameters.cpuparams.n_threads = settings.threads
        parameters.cpuparams_batch.n_threads = settings.threads
    try:
        return xllamacpp.Server(parameters)
    except RuntimeError as error:
        where = f"port {settings.port}" if settings.port else "a free port"
        raise EngineError(
            f"{model.name} cannot be served at {where} ({error}): use another --port (0: any free one), or "
            f"delete {model.path} and fetch it again"
        ) from None
