"""What a double answers: everything that was loaded, searched whole, in the words of each engine."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np

Hit = dict[str, Any]
L2 = ("Euclid", "l2_norm", "l2", "l2-squared", "euclidean", "L2")
IP = ("Dot", "max_inner_product", "innerproduct", "dot", "dotproduct", "IP")


class MissingError(Exception):
    """What was asked for is not there."""


class Brain:
    """One index: its name, its metric in the engine's word, and its vectors."""

    never_ready = False
    answers_short = False  # half of what is asked for, as an engine may

    def __init__(self) -> None:
        self.name: str | None = None
        self.metric = ""
        self.vectors: dict[int, Any] = {}
        self.looks = 0  # how often it was asked whether it is ready: not the first time

    def answer(self, exchange: str, named: dict[str, str], body: Any) -> dict[str, Any]:
        """The values of an answer."""
        name = named.get("name")
        if exchange != "create" and name is not None and name != self.name:
            raise MissingError
        rows_by_id: Callable[[dict[str, str], Any], dict[str, Any] | None] = getattr(self, exchange, _nothing)
        return {
            "name": self.name,
            "count": len(self.vectors),
            "bytes": self.bytes,
            **(rows_by_id(named, body) or {}),
        }

    @property
    def bytes(self) -> int:
        """A size that a test can know."""
        return 1000 * len(self.vectors)

    def ready(self) -> bool:
        """Whether it is ready: from the second look on."""
        self.looks += 1
        return self.looks > 1 and not self.never_ready

    def hits(self, query: Any, k: int) -> list[Hit]:
        """The k nearest by brute force."""
        at = np.array(sorted(self.vectors), np.int64)
        rows = np.array([self.vectors[i] for i in at.tolist()], np.float64)
        q = np.asarray(query, np.float64)
        if self.metric in L2:
            far = ((rows - q) ** 2).sum(1)
        else:
            far = -(rows @ q)
            if self.metric not in IP:
                far = far / np.sqrt((rows**2).sum(1) * (q**2).sum())
        order = np.lexsort((at, far))[: k // 2 if self.answers_short else k]
        return [{"position": int(at[i]), "id": str(at[i]), "score": -float(far[i])} for i in order]

    def drop(self, named: dict[str, str], body: Any) -> None:
        """Forget everything."""
        self.name, self.vectors = None, {}


def _nothing(named: dict[str, str], body: Any) -> None:
    return None


class Qdrant(Brain):
    def create(self, named: dict[str, str], body: Any) -> None:
        self.name, self.metric = named["name"], body["vectors"]["distance"]

    def load(self, named: dict[str, str], body: Any) -> None:
        self.vectors |= dict(zip(body["batch"]["ids"], body["batch"]["vectors"], strict=True))

    def info(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        ready = self.ready()
        return {"status": "green" if ready else "yellow", "indexed": len(self.vectors) if ready else 0}

    def search(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"hits": self.hits(body["query"], body["limit"])}

    def batch(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"answers": [self.search(named, item) for item in body["searches"]]}


class Lucene(Brain):
    def create(self, named: dict[str, str], body: Any) -> None:
        field = body["mappings"]["properties"]["vector"]
        self.name = named["name"]
        self.metric = field.get("similarity") or field["method"]["space_type"]

    def load(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        for head, row in zip(body[::2], body[1::2], strict=True):
            self.vectors[int(head["index"]["_id"])] = row["vector"]
        return {"made": [{"id": head["index"]["_id"]} for head in body[::2]]}

    def task(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"completed": self.ready()}

    def search(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        if "knn" in body:
            knn = body["knn"]
            assert knn["k"] <= knn["num_candidates"] <= 10_000
            hits = self.hits(knn["query_vector"], knn["k"])
        else:
            knn = body["query"]["knn"]["vector"]
            hits = self.hits(knn["vector"], knn["k"])
        return {"hits": hits[: body["size"]], "total": len(hits)}

    def batch(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"answers": [self.search(named, item) for item in body[1::2]]}


class Weaviate(Brain):
    def create(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        self.name, self.metric = body["class"], body["vectorIndexConfig"]["distance"]
        self.config = {**body["vectorIndexConfig"], "dynamicEfMin": 100, "flatSearchCutoff": 40000}
        return {"config": self.config}

    def load(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        for item in body["objects"]:
            self.vectors[UUID(item["id"]).int - 1] = item["vector"]
        return {"made": [{"uuid": item["id"]} for item in body["objects"]]}

    def nodes(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        ready = self.ready()
        return {"status": "READY" if ready else "INDEXING", "queue": 0 if ready else len(self.vectors)}

    def change(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        self.config = body["vectorIndexConfig"]
        return {"config": self.config}

    def search(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        search_hits = re.search(r"(\w+)\(limit: (\d+), nearVector: \{vector: \[(.*?)\]", body["query"])
        assert search_hits
        if search_hits[1] != self.name:
            raise MissingError
        hits = self.hits([float(x) for x in search_hits[3].split(",")], int(search_hits[2]))
        return {"hits": [{"uuid": str(UUID(int=h["position"] + 1)), "distance": -h["score"]} for h in hits]}

    def batch(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"answers": [self.search(named, item) for item in body]}

    def answer(self, exchange: str, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"config": getattr(self, "config", None), **super().answer(exchange, named, body)}


class Vespa(Brain):
    def create(self, named: dict[str, str], body: Any) -> None:
        self.name, self.metric = body["name"], body["metric"]

    def applications(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"applications": ["http://localhost/application/default"] if self.name else []}

    def health(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"status": "up" if self.ready() else "initializing"}

    def load(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        self.vectors[body["fields"]["position"]] = body["fields"]["vector"]
        return named

    def search(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        if f" from {self.name} " not in body["yql"]:
            raise MissingError
        k = re.search(r"targetHits:(\d+)", body["yql"])
        hits = self.hits(body["input.query(target)"], int(k[1])) if k else []
        return {"hits": hits[: body["hits"]], "total": len(hits) if k else len(self.vectors)}

    def size(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        return {"type": self.name}


class Redis(Brain):
    def create(self, named: dict[str, str], body: Any) -> None:
        self.name, self.metric = body[1].decode(), body[body.index(b"DISTANCE_METRIC") + 1].decode()

    def load(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        self.vectors[int(body[1].rpartition(b":")[2])] = np.frombuffer(body[3], np.float32)
        return {"added": 1}

    def info(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        self._ours(body)
        ready = self.ready()
        fields = {"indexing": "0" if ready else "1", "percent": "1" if ready else "0.5"}
        return {"count": str(len(self.vectors)), "megabytes": str(len(self.vectors) / 1024), **fields}

    def search(self, named: dict[str, str], body: Any) -> dict[str, Any]:
        self._ours(body)
        query = np.frombuffer(body[body.index(b"query") + 1], np.float32)
        hits = self.hits(query, int(body[body.index(b"k") + 1]))
        return {
            "hits": [{"key": f"{self.name}:{h['id']}", "score": str(h["score"])} for h in hits],
            "total": len(hits),
        }

    def _ours(self, body: Any) -> None:
        if body[1].decode() != self.name:
            raise MissingError


BRAINS: dict[str, type[Brain]] = {
    "qdrant": Qdrant,
    "elasticsearch": Lucene,
    "opensearch": Lucene,
    "weaviate": Weaviate,
    "vespa": Vespa,
    "redis": Redis,
}
