"""What the view of a planner computes."""

import pytest
from support.drives import standing

NAME = "phantomx"


@pytest.mark.parametrize("tempo", [0.8, 1.0, 1.6])
def test_an_arc_of_so_much_travel_per_stance_is_slower_at_a_longer_swing_time(tempo):
    planner = standing(NAME)
    usual = planner.view.arc_twist(0.03, 0.5)
    planner.change_settings(tempo=tempo)
    assert planner.view.arc_twist(0.03, 0.5) == pytest.approx(usual.scaled(1.0 / tempo))
