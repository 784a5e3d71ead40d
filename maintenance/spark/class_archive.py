"""An archive of the classes that Spark loads: with it the JVM of a driver is ready in half the time.

``paimon-maintenance class-archive`` makes it, once for each Java and Spark of a machine or image, in the user's cache.
Every Spark that is started by this user takes it from there. It is Java's sharing of class data (JEP 350): a JVM that
the archive does not fit, since its class path or its heap is another, goes without and says nothing.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import pyspark

from maintenance.spark.java import JAVA_KEY, java_found

# Whoever says something of archives decides about them.
_DECIDED = ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive", "-Xshare")
SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
"""Keeps a JVM from saying what of an archive does not fit, or which classes it leaves out of one."""


def with_class_archive(config: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Spark whose driver runs on this machine, by the archive if there is one.

    Args: `config`: what it or JAVA_TOOL_OPTIONS says of archives holds.
    """
    given = config.get(JAVA_KEY, "")
    said = f"{given} {os.environ.get('JAVA_TOOL_OPTIONS', '')}"
    archive = None if any(option in said for option in _DECIDED) else archive_path()
    if archive is None or not archive.exists():
        return dict(config)
    return {**config, JAVA_KEY: f"-XX:SharedArchiveFile={archive} {SILENT} {given}".strip()}


def archive_path(folder: Path | None = None) -> Path | None:
    """Where the archive of this Java and this Spark is, or would be; None: there is no Java that Spark starts with.

    Args: `folder`: of archives; None: the user's cache. Whoever can write there decides what code Spark runs.
    """
    java = java_found()
    if java is None:
        return None
    home = Path(java).resolve().parents[1]
    release = home / "release"
    known = [str(home), release.read_text(errors="replace") if release.exists() else ""]
    for jar in sorted(Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0], "jars").glob("*.jar")):
        found = jar.stat()
        known.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]
    return (_cache() if folder is None else folder) / f"{digest}.jsa"


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "paimon-maintenance" / "spark"
