"""Days since 1970-01-01 and dates of the Gregorian calendar, in whole arrays (int64, shape (n,))."""

import numpy as np

_MONTH_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def civil_of_days(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Year, month (1 to 12) and day of days."""
    shifted = days + 719_468  # since 0000-03-01
    era, day = shifted // 146_097, shifted % 146_097
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day = day - (365 * year + year // 4 - year // 100)
    month = (5 * day + 2) // 153
    day_of_month = day - (153 * month + 2) // 5 + 1
    month = np.where(month < 10, month + 3, month - 9)
    return year + 400 * era + (month <= 2), month, day_of_month


def days_of_civil(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Days of dates."""
    shifted = year - (month <= 2)
    era, of_era = shifted // 400, shifted % 400
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return np.asarray(era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468)


def month_lengths(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    """Days of months."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return np.asarray(_MONTH_DAYS[month - 1] + ((month == 2) & leap))
