"""Cache salts: what keeps the prompts of one account out of another's at a server that both use.

A server that caches prompts answers faster where somebody sent the same beginning before, and so tells one
account what another one asked. Servers that take `cache_salt` share a prompt only among calls with the
same salt. One per account lets its own runs share; nobody who lacks the store's secret can make it.
"""

import hmac


def salt(secret: str, account: str) -> str:
    """The salt of account's calls, 64 hexadecimal digits. account "": that of runs without one."""
    return hmac.new(secret.encode(), f"cache salt {account}".encode(), "sha256").hexdigest()
