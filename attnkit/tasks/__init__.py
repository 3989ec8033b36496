"""The course's data: small real or generated tasks whose right answers are known exactly."""
