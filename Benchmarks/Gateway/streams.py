#!/usr/bin/env python3
"""Opens idle streams of as many people on a gateway of this machine, and prints what they cost it.

    Benchmarks/Gateway/streams.py KEYS PORT PID [STREAMS]

KEYS is the key set of `magpie up --pages`, PID the gateway's process. Start the gateway with
MAGPIE_CONNECTIONS_PER_ADDRESS=0 MAGPIE_REQUESTS_PER_SECOND_PER_ADDRESS=0, and both with enough open files
(ulimit -n). Needs Linux. Exit: 1 if a stream is refused or ends.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import sys
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(key, person):
    header = {"alg": "HS256", "typ": "JWT", "kid": key["kid"]}
    claims = {"iss": "magpie up", "aud": "magpie pages", "sub": person, "exp": int(time.time()) + 7200}
    signed = b".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    secret = base64.urlsafe_b64decode(key["k"] + "=" * (-len(key["k"]) % 4))
    code = hmac.new(secret, signed, hashlib.sha256).digest()
    return (signed + b"." + base64url(code)).decode()


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def follow(key, port, number, ready):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
    head = f"GET /v1/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token(key, f'p{number}')}\r\n\r\n"
    writer.write(head.encode())
    status = await reader.readuntil(b"\r\n")
    if b" 200 " not in status:
        raise SystemExit(f"a stream was refused: {status.decode().strip()}")
    events = 0
    while data := await reader.read(4096):
        events += data.count(b"event: ")
        if events >= 3:
            ready.add(number)
    raise SystemExit("a stream ended")


async def main(keys, port, pid, streams):
    with open(keys) as file:
        key = json.load(file)["keys"][0]
    before, start, ready = resident_bytes(pid), time.monotonic(), set()
    tasks = []
    for number in range(streams):
        tasks.append(asyncio.create_task(follow(key, port, number, ready)))
        if number % 100 == 99:
            await asyncio.sleep(0.05)
    while len(ready) < streams:
        await asyncio.sleep(0.1)
        for task in tasks:
            if task.done():
                task.result()
    print(f"{streams} streams have their first states after {time.monotonic() - start:.1f} s")
    await asyncio.sleep(20)
    used, start = processor_seconds(pid), time.monotonic()
    await asyncio.sleep(60)
    share = (processor_seconds(pid) - used) / (time.monotonic() - start)
    print(f"{(resident_bytes(pid) - before) / streams:.0f} bytes a stream; {share:.1%} of a processor at rest")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int((sys.argv[4:] or ["10000"])[0])))
