"""A double of a cloud's front door: gRPC over TLS that asks for a token, with a real server behind it."""

import base64
import datetime
import ipaddress
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_PEM = serialization.Encoding.PEM


class _Relay(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Passes every call on as it is, of those who know the token."""

    def __init__(self, behind: str, token: str) -> None:
        self.channel = grpc.insecure_channel(behind)
        self.known = base64.b64encode(token.encode()).decode()

    def service(self, called: Any) -> Any:
        """What is done with a call."""

        def relay_call(request: bytes, context: Any) -> bytes:
            if dict(context.invocation_metadata()).get("authorization") != self.known:
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "no such token")
            passed: bytes = self.channel.unary_unary(called.method)(request)
            return passed

        return grpc.unary_unary_rpc_method_handler(relay_call)


@contextmanager
def front_door(behind: str, token: str, folder: Path) -> Iterator[str]:
    """The https address of a double before a server; its certificate is in the folder."""
    key, certificate = _certificate()
    (folder / "roots.pem").write_bytes(certificate)
    server = grpc.server(ThreadPoolExecutor(8), handlers=[_Relay(behind, token)])
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    server.start()
    try:
        yield f"https://127.0.0.1:{port}"
    finally:
        server.stop(None)


def _certificate() -> tuple[bytes, bytes]:
    """A key, and a certificate of it for this machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    own_port = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    grpc_server = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(own_port, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(_PEM, *plain), grpc_server.public_bytes(_PEM)
