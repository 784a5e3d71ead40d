"""Settings of all tests."""

from hypothesis import settings

# The machines are shared: how long an example takes says nothing.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
