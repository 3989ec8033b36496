"""The machinery of the course: how exercises are checked, authored, simulated and published."""
