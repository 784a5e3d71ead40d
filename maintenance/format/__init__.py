"""Byte layouts of Paimon's files, one module each: bytes to frozen records or Arrow, and back; no file is opened."""
