"""Vespa, with an application of one schema that is deployed, fed and searched over HTTP."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Annotated, Any, ClassVar
from uuid import uuid4

from assay.core.errors import EngineError, InputError
from assay.core.parameters import Meaning
from assay.core.vectors import Positions
from assay.indexes.index import Rows, Setup, pad_positions
from assay.indexes.parameter_meanings import BuildCandidates, LinkCount
from assay.indexes.servers.server_index import (
    ApiKey,
    ReadyTimeout,
    ServerClient,
    ServerIndex,
    Timeout,
    Url,
    wait_until,
)
from assay.remote.http import bearer_header, error_message

METRICS = {"l2": "euclidean", "ip": "dotproduct", "cosine": "prenormalized-angular"}
TENANT = "/application/v2/tenant/default"
DEPLOY_SECONDS = 400.0  # the server itself gives up after 360
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
    inputs {{ query(target) tensor<float>(x[{d}]) }}
    first-phase {{ expression: closeness(field, vector) }}
  }}
  document-summary positions {{ summary position {{}} }}
}}
"""
PROFILE = '<query-profile id="default"><field name="maxHits">10000</field></query-profile>\n'


class Vespa(ServerIndex):
    """The application of a Vespa server, which can have only one; an existing one is not replaced.

    `url` is the container (port 8080), `config_url` the config server (port 19071).
    """

    smallest_search: ClassVar[dict[str, Any]] = {"exploreAdditionalHits": 0}

    def __init__(
        self,
        setup: Setup,
        *,
        url: Url,
        config_url: Annotated[str, Meaning("the address of the config server, port 19071")],
        api_key: ApiKey = None,
        max_links_per_node: LinkCount = 16,
        neighbors_to_explore_at_insert: BuildCandidates = 200,
        feeders: Annotated[int, Meaning("connections that add documents at the same time", 1)] = 8,
        timeout: Timeout = 60.0,
        ready_timeout: ReadyTimeout = 3600.0,
    ) -> None:
        self.url, self.headers, self.timeout = url, bearer_header(api_key), timeout
        self.client = self._open_client()
        super().__init__(setup, self.client, ready_timeout)
        deploy_timeout = max(timeout, DEPLOY_SECONDS)
        self.deployer = ServerClient("Vespa's config server", config_url, self.headers, deploy_timeout)
        self.name = f"assay{uuid4().hex}"
        self.links_per_node, self.explored_at_insert = max_links_per_node, neighbors_to_explore_at_insert
        self.feeders = feeders
        self.set_search()

    def _open_client(self) -> ServerClient:
        return ServerClient("Vespa", self.url, self.headers, self.timeout)

    def build(self, vectors: Rows) -> None:
        """Deploy the application, feed it and wait until all vectors are found."""
        if self.deployer.call("GET", f"{TENANT}/application/"):
            raise InputError(f"{self.deployer.label} already has an application: use a server without one")
        self.deployer.call("POST", f"{TENANT}/prepareandactivate", self._package(), "application/zip")
        self.is_created = True
        wait_until(self._is_up, self.ready_timeout, "Vespa's container is not up")
        with ThreadPoolExecutor(self.feeders) as pool:
            parts = [range(first, len(vectors), self.feeders) for first in range(self.feeders)]
            list(pool.map(lambda part: self._feed(vectors, part), parts))
        n = len(vectors)
        wait_until(lambda: self._count() == n, self.ready_timeout, f"Vespa does not find all {n:,} vectors")

    def _package(self) -> bytes:
        fields = {"name": self.name, "d": self.setup.d, "metric": METRICS[self.setup.metric]}
        schema = SCHEMA.format(**fields, links=self.links_per_node, explored=self.explored_at_insert)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("services.xml", SERVICES.format(name=self.name))
            file.writestr(f"schemas/{self.name}.sd", schema)
            file.writestr("search/query-profiles/default.xml", PROFILE)
        return archive.getvalue()

    def _is_up(self) -> bool:
        try:
            return bool(self.client.call("GET", "/state/v1/health")["status"]["code"] == "up")
        except EngineError:  # the deployment starts it; it refuses connections until then
            return False

    def _feed(self, vectors: Rows, positions: range) -> None:
        with closing(self._open_client()) as client:
            for position in positions:
                fields = {"position": position, "vector": vectors[position].tolist()}
                client.call("POST", f"/document/v1/assay/{self.name}/docid/{position}", {"fields": fields})

    def _count(self) -> int:
        body = {"yql": f"select position from {self.name} where true", "hits": 0}
        return int(self._search(body)["fields"]["totalCount"])

    def _search(self, body: dict[str, Any]) -> Any:
        root = self.client.call("POST", "/search/", body)["root"]
        if root.get("errors") or not root["coverage"]["full"]:
            reason = error_message(root["errors"]) if root.get("errors") else "only a part was searched"
            raise EngineError(f"{self.client.label} failed to search: {reason}")
        return root

    def set_search(
        self,
        *,
        exploreAdditionalHits: Annotated[
            int, Meaning("candidates beyond k that a search keeps; more find more and take longer", 0)
        ] = 100,
    ) -> None:  # the engine's own name
        """Set how many hits beyond k (`targetHits`) are explored in the graph."""
        self.additional_hits = exploreAdditionalHits

    def search(self, queries: Rows, k: int) -> Positions:
        """Search one query after another, because Vespa has no batches."""
        options = f"targetHits:{k}, hnsw.exploreAdditionalHits:{self.additional_hits}"
        clause = f"{{{options}}}nearestNeighbor(vector, target)"
        body = {
            "yql": f"select position from {self.name} where {clause}",
            "hits": k,
            "ranking": "near",
            "ranking.softtimeout.enable": False,
            "presentation.summary": "positions",
            "timeout": f"{self.timeout:g}s",
        }
        answers = [self._search({**body, "input.query(target)": row}) for row in queries.tolist()]
        return pad_positions(
            [[hit["fields"]["position"] for hit in root.get("children", [])] for root in answers], k
        )

    def size(self) -> int | None:
        """Return the bytes on the server's disk, if its metrics, updated every minute, have them."""
        nodes = self.client.call("GET", "/metrics/v2/values")["nodes"]
        metrics = [m for node in nodes for s in node["services"] for m in s["metrics"]]
        values_of_index = [m["values"] for m in metrics if m["dimensions"].get("documenttype") == self.name]
        sizes = [values[DISK] for values in values_of_index if DISK in values]
        return int(sum(sizes)) if sizes else None

    def version(self) -> str:
        """Return the version of the server."""
        return str(self.deployer.call("GET", "/state/v1/version")["version"])

    def drop(self) -> None:
        """Delete the application."""
        self.deployer.call("DELETE", f"{TENANT}/application/default")

    def close(self) -> None:
        """Delete the application and close the connections."""
        super().close()
        self.deployer.close()
