"""What all tests share: one Hypothesis profile, and children that an interrupt can reach."""

import signal

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

# A shell ignores interrupts in what it runs in the background, and children would inherit that:
# those that tests interrupt would never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
