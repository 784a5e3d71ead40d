"""Files that are written from their beginning to their end, once, as Arrow's `PythonFile` asks for them."""


class WriteOnly:
    """Answers what can be done with such a file."""

    closed = False

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is promised before the file is closed."""
