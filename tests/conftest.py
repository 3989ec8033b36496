"""What all tests share: one Hypothesis profile, so that runs repeat and busy machines do not fail."""

from hypothesis import HealthCheck, settings

# No deadline: the machine's cores are shared, and a slow example is not a wrong one.
settings.register_profile(
    "course",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("course")
