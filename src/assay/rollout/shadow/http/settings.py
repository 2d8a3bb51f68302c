"""The settings of a mirror in front of two endpoints."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from assay.core.errors import InputError
from assay.remote.http import parse_url
from assay.remote.redaction import redact_login
from assay.rollout.shadow.limits import DEFAULT_LIMITS, ShadowLimits
from assay.search.searchers.templates import JsonPath

MEGABYTE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class MirrorSettings:
    """Two endpoints, what of their traffic is mirrored, and how answers are read."""

    primary: str
    candidate: str
    log: str
    limits: ShadowLimits = DEFAULT_LIMITS
    name: str = ""
    search_paths: tuple[str, ...] = ()  # paths whose POST only searches, said on purpose
    hits: str = "$.hits.hits[*]._id"  # where an answer has the ids of its documents
    query_parameter: str = "q"  # of the URL
    query_path: str = "$.query"  # in the JSON of a POST, if the URL has no such parameter
    client_header: str = ""  # the header that names who asks; empty: none
    withheld_headers: tuple[str, ...] = ()  # headers that the candidate does not receive
    keep_host: bool = False  # send the Host of the client, not that of the endpoint
    max_body: int = MEGABYTE  # bytes of a request or an answer that is mirrored
    memory: int = 64 * MEGABYTE  # bytes of requests and answers that are held at once
    primary_timeout: float = 60.0  # seconds without a byte of the primary

    def __post_init__(self) -> None:
        _check_endpoint("primary", self.primary)
        _check_endpoint("candidate", self.candidate)
        for path in self.search_paths:
            if not path.startswith("/") or urlsplit(path).path != path:
                raise InputError(f"search path: expected a path such as /products/_search, found {path!r}")
        for name in ("max_body", "memory"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: expected bytes above 0, found {getattr(self, name)}")
        if not self.primary_timeout > 0:
            raise InputError(f"primary timeout: expected seconds above 0, found {self.primary_timeout:g}")
        JsonPath(self.hits, "hits")
        JsonPath(self.query_path, "query path")

    def to_json(self) -> str:
        """Return the settings as text, for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MirrorSettings:
        """Return the settings of a text."""
        fields = json.loads(text)
        for name in ("search_paths", "withheld_headers"):
            fields[name] = tuple(fields[name])
        return cls(**{**fields, "limits": ShadowLimits(**fields["limits"])})


def _check_endpoint(name: str, url: str) -> None:
    parts = parse_url(url, ("http", "https"))
    if parts.query or parts.fragment:
        raise InputError(f"{name}: expected a URL without ? and #, found {redact_login(url)}")
    if parts.username is not None:
        raise InputError(f"{name}: expected a URL without a login; clients send theirs with requests")
