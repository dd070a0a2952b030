"""Decrypts messages as a browser does, and verifies their authorization.

Each input line is a JSON object; each output line is a plaintext in URL-safe Base64.
"""

import base64
import json
import sys

import http_ece
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

CURVE = ec.SECP256R1()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify(authorization):
    scheme, parameters = authorization.split(" ", 1)
    assert scheme == "vapid", scheme
    values = dict(part.strip().split("=", 1) for part in parameters.split(","))
    signed, _, signature = values["t"].rpartition(".")
    raw = decoded(signature)
    key = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, decoded(values["k"]))
    key.verify(
        encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")),
        signed.encode(),
        ec.ECDSA(hashes.SHA256()),
    )
    claims = json.loads(decoded(signed.split(".")[1]))
    assert claims["aud"] == "https://push.example.net", claims


for line in sys.stdin:
    pushed = json.loads(line)
    verify(pushed["authorization"])
    number = int.from_bytes(decoded(pushed["privateKey"]), "big")
    plaintext = http_ece.decrypt(
        decoded(pushed["body"]),
        private_key=ec.derive_private_key(number, CURVE),
        auth_secret=decoded(pushed["authentication"]),
        version="aes128gcm",
    )
    print(base64.urlsafe_b64encode(plaintext).decode().rstrip("="))
