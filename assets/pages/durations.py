"""How long something takes, as people read it."""


def seconds_text(seconds: float) -> str:
    """``0.3 s``, ``12 s``, ``4 min 5 s``, ``3 h 20 min``."""
    if round(seconds) < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
