"""Examinations that change nothing: fsck, the changelog auditor, what a scan reads and why."""
