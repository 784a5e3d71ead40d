# What `__getattr__` of the package finds, for type checkers.
from maintenance import catalog as catalog
from maintenance import errors as errors
from maintenance import operations as operations
from maintenance import sql as sql
from maintenance.catalog import Catalog as Catalog
from maintenance.catalog import Schema as Schema
from maintenance.catalog import open_catalog as open_catalog
from maintenance.operations import *  # noqa: F403 - each of them, as `__all__` there lists them
