"""A server of Paimon's REST API: requests, pages, and what its errors mean.

Requests that the server did not take (429, 503, no connection) are sent again; one whose answer was lost only if it
changes nothing. Source: Java `RESTApi`, `HttpClient`, `ResourcePaths`, `DefaultErrorHandler`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus, urlencode

from maintenance.errors import (
    AlreadyExistsError,
    InfrastructureError,
    NotFoundError,
    OptionError,
    PaimonError,
    SchemaError,
    UnsupportedError,
)
from maintenance.options import catalog as catalog_options

Json = Any

_WHERE = "catalog options"
_HEADER_PREFIX = "header."
_ATTEMPTS = 5
_BACKOFF_SECONDS = 0.2
_CONNECT_SECONDS, _READ_SECONDS = 30.0, 180.0
_NOT_TAKEN = (429, 503)


class LostAnswerError(InfrastructureError):
    """A request that changes something was sent and not answered: whether it was carried out is unknown."""


@dataclass(frozen=True, slots=True)
class RestServer:
    """A server and how to reach it; a small value that travels to Spark's tasks.

    Attributes:
        uri: without a slash at its end.
        headers: sorted pairs, sent with every request; they hold the token.
        prefix: of the catalog, between `/v1/` and the resource.
    """

    uri: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    prefix: str = ""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "RestServer":
        """Raises: OptionError: no `uri` or `token`; UnsupportedError: another `token.provider`."""
        uri = catalog_options.URI.of(options)
        if not uri:
            raise OptionError("'uri' is not set", _WHERE, "Set it to the address of the REST server.")
        provider, token = catalog_options.TOKEN_PROVIDER.of(options), catalog_options.TOKEN.of(options)
        if provider is None:
            raise OptionError("'token.provider' is not set", _WHERE, "Set 'token.provider' = 'bear' and 'token'.")
        if provider != "bear":
            raise UnsupportedError(
                f"'token.provider' = '{provider}' is not supported", _WHERE, "Use 'bear' with a 'token'."
            )
        if not token:
            raise OptionError("'token' is not set", _WHERE, "Set it to the bearer token that the server expects.")
        address = uri if uri.startswith(("http://", "https://")) else f"http://{uri}"
        return cls(address.rstrip("/"), _headers(options, token))

    def configured(self, options: Mapping[str, str]) -> tuple["RestServer", dict[str, str]]:
        """The server, and the options as it completes them: its defaults, the user's, its overrides.

        Raises: as `request`.
        """
        warehouse = catalog_options.WAREHOUSE.of(options)
        answer = self.request("GET", "/v1/config", query={"warehouse": warehouse} if warehouse else {})
        merged = {**(answer.get("defaults") or {}), **options, **(answer.get("overrides") or {})}
        merged = {key: str(value) for key, value in merged.items() if value is not None}
        headers = _headers(merged, catalog_options.TOKEN.of(options) or "")
        return replace(self, headers=headers, prefix=merged.get("prefix", "")), merged

    def path(self, *parts: str) -> str:
        """The path of a resource, such as `databases`, `db`, `tables`."""
        return "/".join(["/v1", *(quote_plus(part) for part in ((self.prefix,) if self.prefix else ()) + parts)])

    def get(self, *parts: str) -> Json:
        """What a resource is. Raises: as `request`."""
        return self.request("GET", self.path(*parts))

    def post(self, *parts: str, body: Json) -> Json:
        """Create or change something. Raises: as `request`."""
        return self.request("POST", self.path(*parts), body=body)

    def delete(self, *parts: str) -> None:
        """Raises: as `request`."""
        self.request("DELETE", self.path(*parts))

    def pages(self, *parts: str, key: str, query: Mapping[str, str] | None = None) -> Iterator[Json]:
        """The elements of a list, page by page. `key`: where they stand in an answer. Raises: as `request`."""
        token: str | None = None
        while True:
            wanted = {**(query or {}), **({"pageToken": token} if token else {})}
            answer = self.request("GET", self.path(*parts), query=wanted)
            items = answer.get(key) or []
            yield from items
            token = answer.get("nextPageToken")
            if not token or not items:
                return

    def request(self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Json = None) -> Json:
        """The JSON of an answer, an empty object if there is none.

        Raises: NotFoundError, AlreadyExistsError, SchemaError: the request cannot be done; OptionError: the token is
            refused, or the user may not; UnsupportedError: the server lacks it; InfrastructureError: it cannot be
            reached or failed; LostAnswerError.
        """
        import urllib3

        url = self.uri + path + (f"?{urlencode(query)}" if query else "")
        content = {} if body is None else {"Content-Type": "application/json"}
        try:
            answer = _pool().request(
                method,
                url,
                body=None if body is None else json.dumps(body).encode(),
                headers={**dict(self.headers), **content},
                retries=_retries(changes=method != "GET"),
                redirect=False,
            )
        except (urllib3.exceptions.ProtocolError, urllib3.exceptions.ReadTimeoutError) as error:
            raise LostAnswerError(
                f"the REST server did not answer {method} {path}: {type(error).__name__}",
                self.uri,
                "Look whether it was carried out, then run again.",
            ) from None
        except (urllib3.exceptions.HTTPError, UnicodeError) as error:
            # Without the cause: its text may hold an address with a signature.
            raise InfrastructureError(
                f"the REST server cannot be reached: {type(error).__name__}",
                self.uri,
                "Check 'uri' and that the server runs.",
            ) from None
        if answer.status >= 300:
            raise self._error(answer.status, answer.data, f"{method} {path}")
        return self._parsed(answer.data)

    def _parsed(self, data: bytes) -> Json:
        try:
            return json.loads(data) if data.strip() else {}
        except ValueError:
            raise InfrastructureError(
                "the REST server's answer is not JSON", self.uri, "Check that 'uri' is that of a Paimon REST server."
            ) from None

    def _error(self, status: int, data: bytes, asked: str) -> PaimonError:
        try:
            form = json.loads(data)
            code, message = int(form.get("code") or status), str(form.get("message") or "")
        except (ValueError, AttributeError, TypeError):
            code, message = status, ""
        problem, where = f"{message or 'no reason given'} [HTTP {code}]", f"{self.uri}, {asked}"
        match code:
            case 400:
                return SchemaError(
                    problem, where, "Correct the name, type or option that the server's answer speaks of."
                )
            case 401:
                return OptionError(
                    f"the REST server refused the token: {problem}", where, "Check the catalog option 'token'."
                )
            case 403:
                return OptionError(
                    f"the REST server forbids it: {problem}",
                    where,
                    "Ask whoever runs the REST server for the permission, or use another 'token'.",
                )
            case 404:
                return NotFoundError(problem, where, "Check the name.")
            case 405 | 406 | 501:
                return UnsupportedError(problem, where, "This server does not offer it.")
            case 409:
                return AlreadyExistsError(problem, where, "Use it, or choose another name.")
        return InfrastructureError(
            f"the REST server failed: {problem}", where, "Run again later, or ask its operators."
        )


def _headers(options: Mapping[str, str], token: str) -> tuple[tuple[str, str], ...]:
    given = {key.removeprefix(_HEADER_PREFIX): v for key, v in options.items() if key.startswith(_HEADER_PREFIX)}
    return tuple(sorted({**given, "Authorization": f"Bearer {token}"}.items()))


@lru_cache(maxsize=1)
def _pool() -> Any:
    import urllib3

    return urllib3.PoolManager(timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS))


@lru_cache(maxsize=2)
def _retries(*, changes: bool) -> Any:
    import urllib3

    return urllib3.Retry(
        total=_ATTEMPTS,
        read=False if changes else _ATTEMPTS,
        other=False,
        redirect=False,
        allowed_methods=None,
        status_forcelist=_NOT_TAKEN,
        backoff_factor=_BACKOFF_SECONDS,
        raise_on_status=False,
    )
