"""The number of examples of property tests that try more than the profile says."""

from hypothesis import settings

QUICK = "quick"
QUICK_EXAMPLES = 20


def examples(count: int) -> settings:
    """Try `count` examples, or only as many as the quick profile."""
    is_quick = settings.get_current_profile_name() == QUICK
    return settings(max_examples=QUICK_EXAMPLES if is_quick else count, deadline=None)
