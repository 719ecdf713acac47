"""What a running process tells of itself: logs, traces, and alarms when it is late."""
