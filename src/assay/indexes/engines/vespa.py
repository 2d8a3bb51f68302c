"""Vespa: an application of one schema, deployed, fed and asked over HTTP."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, ClassVar
from uuid import uuid4

from assay.core.errors import EngineError, InputError
from assay.core.vectors import Positions
from assay.indexes.engines.http import Client, bearer, message, until
from assay.indexes.index import Index, Rows, Setup, padded

METRICS = {"l2": "euclidean", "ip": "dotproduct", "cosine": "prenormalized-angular"}
TENANT = "/application/v2/tenant/default"
DEPLOYING = 400.0  # seconds; the server itself gives up after 360
DISK = "content.proton.documentdb.disk_usage.last"
SERVICES = """<?xml version="1.0" encoding="utf-8" ?>
<services version="1.0">
  <container id="default" version="1.0"><document-api/><search/></container>
  <content id="vectors" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents><document type="{name}" mode="index"/></documents>
    <nodes><node distribution-key="0" hostalias="node1"/></nodes>
  </content>
</services>
"""
SCHEMA = """schema {name} {{
  document {name} {{
    field position type int {{ indexing: summary | attribute }}
    field vector type tensor<float>(x[{d}]) {{
      indexing: attribute | index
      attribute {{ distance-metric: {metric} }}
      index {{ hnsw {{ max-links-per-node: {links} neighbors-to-explore-at-insert: {explored} }} }}
    }}
  }}
  rank-profile near {{
    num-threads-per-search: 1
    inputs {{ query(asked) tensor<float>(x[{d}]) }}
    first-phase {{ expression: closeness(field, vector) }}
  }}
  document-summary positions {{ summary position {{}} }}
}}
"""
PROFILE = '<query-profile id="default"><field name="maxHits">10000</field></query-profile>\n'


class Vespa(Index):
    """The application of a Vespa server, which holds one: where there is one already, it is not replaced.

    `url` is the container (port 8080), `config_url` the config server (port 19071).
    """

    least: ClassVar[dict[str, Any]] = {"exploreAdditionalHits": 0}

    def __init__(
        self,
        setup: Setup,
        *,
        url: str,
        config_url: str,
        api_key: str | None = None,
        max_links_per_node: int = 16,
        neighbors_to_explore_at_insert: int = 200,
        feeders: int = 8,
        timeout: float = 60.0,
        ready_timeout: float = 3600.0,
    ) -> None:
        super().__init__(setup)
        self.url, self.headers, self.timeout = url, bearer(api_key), timeout
        self.client = self._client()
        self.deployer = Client("Vespa's config server", config_url, self.headers, max(timeout, DEPLOYING))
        self.name, self.made = f"assay{uuid4().hex}", False
        self.links, self.explored = max_links_per_node, neighbors_to_explore_at_insert
        self.feeders, self.ready_timeout = feeders, ready_timeout
        self.set_search()

    def _client(self) -> Client:
        return Client("Vespa", self.url, self.headers, self.timeout)

    def build(self, vectors: Rows) -> None:
        """Deploy the application, feed it and wait until all is found."""
        if self.deployer.call("GET", f"{TENANT}/application/"):
            raise InputError(f"{self.deployer.where} holds an application already; give a server without one")
        self.deployer.call("POST", f"{TENANT}/prepareandactivate", self._package(), "application/zip")
        self.made = True
        until(self._up, self.ready_timeout, "Vespa's container is not up")
        with ThreadPoolExecutor(self.feeders) as pool:
            parts = [range(first, len(vectors), self.feeders) for first in range(self.feeders)]
            list(pool.map(lambda part: self._fed(vectors, part), parts))
        n = len(vectors)
        until(lambda: self._count() == n, self.ready_timeout, f"Vespa does not find all {n:,} vectors")

    def _package(self) -> bytes:
        words = {"name": self.name, "d": self.setup.d, "metric": METRICS[self.setup.metric]}
        schema = SCHEMA.format(**words, links=self.links, explored=self.explored)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("services.xml", SERVICES.format(name=self.name))
            file.writestr(f"schemas/{self.name}.sd", schema)
            file.writestr("search/query-profiles/default.xml", PROFILE)
        return packed.getvalue()

    def _up(self) -> bool:
        try:
            return bool(self.client.call("GET", "/state/v1/health")["status"]["code"] == "up")
        except EngineError:  # it is started by the deployment, and refuses until then
            return False

    def _fed(self, vectors: Rows, positions: range) -> None:
        with closing(self._client()) as client:
            for at in positions:
                fields = {"position": at, "vector": vectors[at].tolist()}
                client.call("POST", f"/document/v1/assay/{self.name}/docid/{at}", {"fields": fields})

    def _count(self) -> int:
        body = {"yql": f"select position from {self.name} where true", "hits": 0}
        return int(self._asked(body)["fields"]["totalCount"])

    def _asked(self, body: dict[str, Any]) -> Any:
        root = self.client.call("POST", "/search/", body)["root"]
        if root.get("errors") or not root["coverage"]["full"]:
            said = message(root["errors"]) if root.get("errors") else "only a part was searched"
            raise EngineError(f"{self.client.where} failed to search: {said}")
        return root

    def set_search(self, *, exploreAdditionalHits: int = 100) -> None:  # the engine's own word
        """Set how many more than the k asked for (`targetHits`) are explored in the graph."""
        self.more = exploreAdditionalHits

    def search(self, queries: Rows, k: int) -> Positions:
        """One query after the other: Vespa has no batch."""
        near = f"{{targetHits:{k}, hnsw.exploreAdditionalHits:{self.more}}}nearestNeighbor(vector, asked)"
        body = {
            "yql": f"select position from {self.name} where {near}",
            "hits": k,
            "ranking": "near",
            "ranking.softtimeout.enable": False,
            "presentation.summary": "positions",
            "timeout": f"{self.timeout:g}s",
        }
        found = [self._asked({**body, "input.query(asked)": row}) for row in queries.tolist()]
        return padded([[hit["fields"]["position"] for hit in root.get("children", [])] for root in found], k)

    def size(self) -> int | None:
        """The bytes on the server's disk, once its metrics (made every minute) tell them."""
        nodes = self.client.call("GET", "/metrics/v2/values")["nodes"]
        told = [m for node in nodes for s in node["services"] for m in s["metrics"]]
        ours = [m["values"] for m in told if m["dimensions"].get("documenttype") == self.name]
        sizes = [values[DISK] for values in ours if DISK in values]
        return int(sum(sizes)) if sizes else None

    def version(self) -> str:
        """The version of the server."""
        return str(self.deployer.call("GET", "/state/v1/version")["version"])

    def close(self) -> None:
        """Delete the application."""
        if self.made:
            self.made = False
            self.deployer.call("DELETE", f"{TENANT}/application/default")
        self.client.close()
        self.deployer.close()
