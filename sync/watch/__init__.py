"""Lists and watches each kind, and keeps its objects as rows."""
