"""The processes of a campaign by what they do."""

from collections.abc import Callable, Mapping

from tests.chaos.java_client import java
from tests.chaos.keepers import compacts, expires, sweeps, tags
from tests.chaos.readers import audits, follows, reads
from tests.chaos.worker import Worker
from tests.chaos.writer import write

ROLES: Mapping[str, Callable[[Worker], None]] = {
    "write": write,
    "compact": compacts,
    "expire": expires,
    "tag": tags,
    "sweep": sweeps,
    "read": reads,
    "audit": audits,
    "follow": follows,
    "java": java,
}
