"""Verifies webhooks. Each input line is a JSON object; each output line is `accepted` or `rejected`."""

import base64
import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    hooked = json.loads(line)
    try:
        Webhook(hooked["secret"]).verify(base64.b64decode(hooked["body"]), hooked["headers"])
        print("accepted")
    except WebhookVerificationError:
        print("rejected")
