"""Keys from the files of AWS's own tools."""

from pathlib import Path

import pytest

from maintenance.fs.aws_profile import profile_settings

KEYS = "aws_access_key_id = 0k\naws_secret_access_key = s%1\n"


def test_the_profile_in_use(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(f"[default]\n{KEYS}[work]\n{KEYS}aws_session_token = t\n")
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = r1\n[profile work]\nregion = r2\n[profile o]\nsso_x = 1\n"
    )
    home = {"HOME": str(tmp_path)}
    keys = {"access_key_id": "0k", "secret_access_key": "s%1"}
    assert profile_settings({}, home) == {**keys, "region": "r1"}
    assert profile_settings({}, {**home, "AWS_PROFILE": "work"}) == {**keys, "session_token": "t", "region": "r2"}
    assert profile_settings({}, {**home, "AWS_REGION": "r3"}) == keys
    assert profile_settings({"access_key_id": "given"}, home) == {}
    assert profile_settings({}, {**home, "AWS_ACCESS_KEY_ID": "k"}) == {}
    assert profile_settings({}, {"HOME": str(tmp_path / "other")}) == {}
    with pytest.raises(ValueError, match="profile 'o' of AWS gets its keys from elsewhere"):
        profile_settings({}, {**home, "AWS_PROFILE": "o"})
