"""Verifies permits of the agent governance service, for the system that acts on them: needs PyJWT 2.6 or later with cryptography.

    claims = verify_permit(token, issuer="https://governance.example.com", audience="bank", action="send-payment",
                           resource_type="payment", resource_id="payments/2026/0042", parameters={"amount": 1200})
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import math
import re
import time
from typing import Any, Callable, Mapping, Optional

import jwt

__all__ = ["PermitError", "verify_permit"]

#: Seconds by which clocks may differ.
_LEEWAY = 30
#: Seconds for which keys are kept, and seconds between two requests for a key that is not among them.
_LIFESPAN = 600
_COOLDOWN = 30.0
_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_CLAIMS = ["iss", "aud", "sub", "jti", "iat", "exp"]


class PermitError(Exception):
    """The token is no permit for this. The message says what differs."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The permit is refused: {why}.")


def verify_permit(
    token: str,
    *,
    issuer: str,
    audience: str,
    action: str,
    resource_type: str,
    resource_id: str,
    parameters: Mapping[str, Any],
    seen: Optional[Callable[[str, int], bool]] = None,
) -> Mapping[str, Any]:
    """Checks that a token permits exactly this action, now, and returns its claims.

    :param issuer: the service, by its PUBLIC_URL. Its keys are fetched from there.
    :param audience: the name of the target among the service's PERMIT_AUDIENCES.
    :param seen: called with `jti` and `exp`: notes the use of a permit, and returns True if it is the first one. The
        notes have to be common to all instances of the target, and last half a minute longer than `exp`, which is in
        seconds since 1970. Without `seen` a permit can be used until it expires.
    :raises PermitError: if it does not.
    :raises jwt.PyJWKClientError: if the keys of the service cannot be fetched.
    """
    _must(isinstance(token, str) and _TOKEN.fullmatch(token) is not None, "it is not a JWT")
    try:
        header = jwt.get_unverified_header(token)
        _must(header.get("alg") == "ES256" and header.get("typ") == "JWT" and "crit" not in header, "it is not signed by ES256")
        key = _key_of(issuer, header.get("kid"))
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=["ES256"],
            audience=audience,
            issuer=issuer,
            leeway=_LEEWAY,
            options={"require": _CLAIMS},
        )
    except jwt.PyJWKClientError:
        raise
    except jwt.PyJWTError as error:
        raise PermitError(str(error)) from error
    # Decoding ignores some bits of the last character, so several texts give one signature: only one is accepted.
    signature = token.rsplit(".", 1)[1]
    decoded = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    _must(base64.urlsafe_b64encode(decoded).rstrip(b"=").decode() == signature, "its signature is not as it was made")
    _must(claims["aud"] == audience, "it is for another audience")
    _must(claims["iat"] <= time.time() + _LEEWAY, "it is from the future")
    details = claims.get("authorization_details")
    _must(isinstance(details, list) and len(details) == 1, "it permits no single action")
    permitted: Mapping[str, Any] = (details or [{}])[0]
    _must(permitted.get("type") == "governed_action", "it permits no action")
    _must(permitted.get("actions") == [action], "it is for another action")
    _must(permitted.get("resource_type") == resource_type, "it is for another type of resource")
    _must(permitted.get("identifier") == resource_id, "it is for another resource")
    _must(permitted.get("parameters_hash") == _hash(parameters), "it is for other parameters")
    if seen is not None:
        is_first = seen(claims["jti"], claims["exp"])
        # A coroutine is true in a condition, whatever its result will be.
        if inspect.isawaitable(is_first):
            raise TypeError("seen must not be async: it answers True or False at once.")
        _must(is_first, "it was used before")
    return claims


class _Keys:
    def __init__(self, issuer: str) -> None:
        self._client = jwt.PyJWKClient(f"{issuer}/.well-known/jwks.json", lifespan=_LIFESPAN)
        self._request_time = -math.inf

    def find(self, kid: Any) -> Any:
        found = self._named(kid, False)
        if found is None and time.monotonic() - self._request_time >= _COOLDOWN:
            self._request_time = time.monotonic()
            found = self._named(kid, True)
        _must(found is not None, "its key is not one of the service")
        return found

    def _named(self, kid: Any, refresh: bool) -> Any:
        keys = self._client.get_signing_keys(refresh)
        return next((key.key for key in keys if key.key_id == kid), None)


_key_sets: dict[str, _Keys] = {}


def _key_of(issuer: str, kid: Any) -> Any:
    _must(isinstance(kid, str), "it names no key")
    return _key_sets.setdefault(issuer, _Keys(issuer)).find(kid)


def _must(holds: bool, message: str) -> None:
    if not holds:
        raise PermitError(message)


def _hash(parameters: Mapping[str, Any]) -> str:
    try:
        return hashlib.sha256(_canonical(parameters).encode()).hexdigest()
    except UnicodeEncodeError as error:
        # The service permits no parameters with half of a surrogate pair.
        raise PermitError("it is for other parameters") from error


def _canonical(value: Any) -> str:
    """Returns a value in the form of RFC 8785."""
    if isinstance(value, Mapping):
        members = sorted(value.items(), key=lambda member: str(member[0]).encode("utf-16-be"))
        return "{" + ",".join(f"{_canonical(name)}:{_canonical(member)}" for name, member in members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(_exact(value))
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def _exact(value: int) -> float:
    """Refuses an integer that a double cannot represent, as the service has none: it would count as a permitted
    neighbour."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if number != value:
        raise TypeError(f"parameters must be plain JSON; {value} is an integer that it does not hold exactly.")
    return number


def _number(value: float) -> str:
    """Writes a number as ECMAScript does: in its form, with the same digits as Python, which are the fewest that
    identify the number."""
    if not math.isfinite(value):
        raise TypeError(f"parameters must be plain JSON; {value!r} is none.")
    if value == 0:
        return "0"
    mantissa, _, power = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).rstrip("0") if fraction.strip("0") else whole
    point = len(whole) + int(power or 0)
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0").rstrip("0")
    sign = "-" if value < 0 else ""
    if -6 < point <= 21:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        return sign + digits.ljust(point, "0") if point >= len(digits) else f"{sign}{digits[:point]}.{digits[point:]}"
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return f"{sign}{digits[0]}{'.' if len(digits) > 1 else ''}{digits[1:]}{exponent}"
