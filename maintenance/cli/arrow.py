"""Arrow, loaded without pandas.

Arrow looks for pandas once in a process, when it is first given values, and imports it if it is there: that takes
longer than all else that a command does, and no command needs it. So Arrow looks while there is none to be seen.
Whoever imports pandas later finds it, and Arrow then converts from it and to it as ever.
"""

import sys


class _NoPandas:
    """A finder of modules that says there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("Arrow does not need pandas here", name=name)


def load_arrow() -> None:
    """Import Arrow, and let it look for pandas in vain; nothing happens where Arrow is there already."""
    if "pyarrow" in sys.modules:
        return
    unseen = _NoPandas()
    sys.meta_path.insert(0, unseen)
    try:
        import pyarrow as pa

        pa.array([None])  # the first values: now it looks
    finally:
        sys.meta_path.remove(unseen)
