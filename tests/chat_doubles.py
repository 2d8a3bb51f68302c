"""A double of an endpoint with OpenAI's /v1/chat/completions, over a real socket.

It grades by the words that the query and the document share, counts what it bills, and has the faults it
is told, one for each request.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

KEY = "sk-not-a-key-3141"
PROMPT_TOKENS, COMPLETION_TOKENS = 100, 10
Answer = Callable[[str], str]  # the text of the reply to the last message
Message = dict[str, Any]
Converse = Callable[[list[Message]], Message]  # the reply to all messages, which may call tools


class ChatDouble(ThreadingHTTPServer):
    """A running double."""

    daemon_threads = True

    def __init__(self, faults: list[str], seconds: float, converse: Converse) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults, self.seconds, self.converse = faults, seconds, converse
        self.bodies: list[dict[str, Any]] = []
        self.billed: Counter[str] = Counter()  # replies that were generated, by the last message
        self.lock = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that are gone."""


@contextmanager
def chat_double(
    *faults: str, seconds: float = 0.0, answer: Answer | None = None, converse: Converse | None = None
) -> Iterator[ChatDouble]:
    """Start a double with these faults, one for each request, that takes so long for a reply."""
    answer_last = answer or grade_by_words
    respond = converse or (lambda messages: {"content": answer_last(messages[-1]["content"])})
    server = ChatDouble(list(faults), seconds, respond)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def grade_by_words(message: str) -> str:
    """Return the number of words of the query that the document has, at most 3, as a grade."""
    query = re.search(r"Query: (.*)", message)
    document = message.replace(query[0], "") if query else ""
    shared = set(query[1].lower().split()) & set(document.lower().split()) if query else set()
    return json.dumps({"grade": min(3, len(shared))})


_REPLIES: dict[str, dict[str, str | None]] = {
    "prose": {"content": "It is somewhere between 1 and 2, hard to say."},
    "high": {"content": '{"grade": 7}'},
    "empty": {"content": ""},
    "refuse": {"content": None, "refusal": "I will not judge this."},
    "sorry": {"content": "I'm sorry, but I can't help with that."},
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ChatDouble

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault.isdigit() or fault.startswith("429"):
            status, _, pause = fault.partition(":")
            self._respond(int(status), {"error": {"message": f"no, {KEY}"}}, {"Retry-After": pause or "0"})
        elif fault.startswith("unknown:") and (name := fault.partition(":")[2]) in body:
            self.server.faults.insert(0, fault)  # until the parameter is left out
            self._respond(400, {"error": {"message": f"Unsupported parameter: {name}"}})
        else:
            self._bill(body, fault)

    def _bill(self, body: dict[str, Any], fault: str) -> None:
        """Generate a reply, and send it or not."""
        time.sleep(30 if fault == "hang" else self.server.seconds)
        last = body["messages"][-1]["content"]
        with self.server.lock:
            self.server.billed[last] += 1
        if fault == "cut":
            self.close_connection = True
            self.connection.close()
        elif fault == "page":
            self._respond(200, "<html>")
        elif fault == "hollow":
            self._respond(200, {"choices": []})
        else:
            message = _REPLIES.get(fault) or self.server.converse(body["messages"])
            reason = "length" if fault == "empty" else "stop"
            choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
            usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS}
            response = {"model": "double-1", "choices": [choice], "usage": usage}
            self._respond(200, {k: v for k, v in response.items() if not (fault == "free" and k == "usage")})

    def _respond(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        pass
