"""The process of a Sail server: ``python -m maintenance.spark.sail_process PORT``.

Sail runs Python functions inside its own process, and calls PySpark there as the release that is installed speaks. It
knows those up to 4.2 and refuses a session beside any other. 4.3 differs, for the functions that take and give Arrow,
in two things: what a function is made of is read before `read_udfs` is called, and the serializers of pandas are gone.
Both are supplied here, so that one environment serves the client and the server. Functions of pandas do not run there.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn, cast

from maintenance.errors import OptionError, UnsupportedError

_KNOWN = ("4.0", "4.1", "4.2")
_SUPPLIED = "4.3"
_SPOKEN = "4.2.0"


def check_versions() -> str:
    """The minor release of PySpark that is installed. Raises: OptionError: Sail is not there, or does not know it."""
    import pyspark

    if find_spec("pysail") is None:
        raise OptionError("Sail is not installed", "engine 'sail'", "Install the extra 'sail'.")
    minor = ".".join(pyspark.__version__.split(".")[:2])
    if minor not in (*_KNOWN, _SUPPLIED):
        raise OptionError(
            f"Sail does not work with PySpark {pyspark.__version__}",
            "engine 'sail'",
            f"Install PySpark {', '.join((*_KNOWN, _SUPPLIED))}, or use the engine 'spark' or 'embedded'.",
        )
    return minor


def prepare() -> None:
    """Let Sail find the PySpark that it knows. Raises: OptionError: as `check_versions`."""
    if check_versions() == _SUPPLIED:
        import pyspark

        _supply()
        pyspark.__version__ = _SPOKEN


def _supply() -> None:
    # PySpark has no types here.
    worker, messages, serializers, of_pandas = (
        cast("Any", import_module(f"pyspark.{name}"))
        for name in ("worker", "worker_message", "serializers", "sql.pandas.serializers")
    )
    of_worker = worker.read_udfs

    def read_udfs(pickler: Any, stream: Any, eval_type: int, runner_conf: Any, eval_conf: Any) -> Any:
        functions = [messages.UDFInfo.from_stream(stream) for _ in range(serializers.read_int(stream))]
        return of_worker(pickler, functions, eval_type, runner_conf, eval_conf)

    worker.read_udfs = read_udfs
    for name in ("ArrowStreamPandasUDFSerializer", "ArrowStreamPandasUDTFSerializer"):
        setattr(of_pandas, name, _OfPandas)


class _OfPandas:
    """Made also for functions that never use it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> NoReturn:
        raise UnsupportedError(
            f"a function of pandas on Sail beside PySpark {_SUPPLIED}",
            "engine 'sail'",
            "Write it with Arrow, as for mapInArrow, or use the engine 'spark'.",
        )


def serve(port: int) -> None:
    """Serve until the process is asked to end."""
    prepare()
    from pysail.spark import SparkConnectServer

    SparkConnectServer("127.0.0.1", port).start(background=False)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
