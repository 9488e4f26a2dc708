"""Doing something for each member: order, progress, and what one of them raises."""

import threading

import pytest

from learners.ensembles.growing import for_each


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_what_is_made_is_in_the_members_order_and_progress_ends_with_all(threads):
    told = []
    made = for_each(lambda member, _: member * member, 20, threads, lambda *said: told.append(said), "squared")
    assert made == [member * member for member in range(20)]
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] <= 1


def test_an_error_is_raised_and_ends_the_work_on_the_other_members():
    begun, failed = [], threading.Event()

    def make(member, progress):
        begun.append(member)
        if member == 1:
            failed.set()
            raise ValueError("member 1")
        failed.wait()
        while True:  # until it is told that the work is over
            progress(0.5, "")

    with pytest.raises(ValueError, match="member 1"):
        for_each(make, 50, 3, lambda *_: None, "made")
    assert len(begun) <= 4


def test_who_is_told_of_progress_may_cancel():
    class Cancelled(Exception):
        pass

    def cancel(share, _):
        raise Cancelled

    with pytest.raises(Cancelled):
        for_each(lambda member, progress: progress(1.0, ""), 50, 2, cancel, "made")
