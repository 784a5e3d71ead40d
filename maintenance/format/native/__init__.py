"""Data files whose formats have libraries of their own, which are extras: vortex, lance and mosaic."""
