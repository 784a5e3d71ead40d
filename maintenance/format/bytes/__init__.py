"""Encodings of single values: varints, hashes, bitmaps, INT96, protocol buffers."""
