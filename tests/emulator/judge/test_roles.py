"""Two holders of one role at a time, an epoch twice, an epoch that falls: each is seen, and nothing else is."""

from ringhil.emulator.judge.elections.roles import RoleWatch


def watch(*held: tuple[int, int]) -> RoleWatch:
    """A watch that has seen these GPUs hold the role one after the other, under these epochs."""
    role = RoleWatch("entry of card a")
    for gpu, epoch in held:
        role.elected(gpu, epoch, 100 * epoch)
        role.gone(gpu, 1000)
    return role


def texts(role: RoleWatch) -> list[str]:
    return [str(each).removeprefix("split brain: ") for each in role.wrong]


def test_nobody_at_first() -> None:
    role = watch()
    assert (role.holder, role.epoch, role.changes, role.wrong) == (None, 0, 0, [])


def test_one_after_the_other_is_right() -> None:
    role = watch((0, 1), (1, 2), (0, 5))
    role.elected(1, 7, 900)
    assert (role.holder, role.epoch, role.changes, role.wrong) == (1, 7, 4, [])
    role.gone(1, 1000)
    assert (role.holder, role.epoch) == (None, 7)


def test_who_holds_nothing_can_go_without_harm() -> None:
    role = watch()
    role.elected(0, 1, 100)
    role.gone(3, 1000)
    assert (role.holder, role.wrong) == (0, [])


def test_two_at_a_time_are_a_split_brain() -> None:
    role = watch()
    role.elected(0, 1, 100)
    role.elected(1, 2, 200)
    assert texts(role) == ["entry of card a at cycle 200: GPU 1 (epoch 2) beside 0 (epoch 1)"]


def test_also_when_the_first_one_goes_later() -> None:
    role = watch()
    role.elected(0, 1, 100)
    role.elected(1, 2, 200)
    role.gone(0, 1000)
    assert role.holder == 1
    assert len(role.wrong) == 1


def test_a_holder_that_is_elected_again_has_not_laid_its_role_down() -> None:
    role = watch()
    role.elected(0, 1, 100)
    role.elected(0, 2, 200)
    assert len(role.wrong) == 1


def test_an_epoch_may_be_granted_once_only() -> None:
    assert texts(watch((0, 1), (1, 1))) == ["entry of card a at cycle 100: epoch 1 is granted twice"]
    assert texts(watch((0, 1), (0, 1))) == ["entry of card a at cycle 100: epoch 1 is granted twice"]


def test_epochs_never_fall() -> None:
    role = watch((0, 4), (1, 3))
    assert texts(role) == ["entry of card a at cycle 300: epoch 3 after 4"]


def test_an_old_epoch_again_is_wrong_twice_over() -> None:
    assert len(watch((0, 1), (1, 2), (0, 1)).wrong) == 2


def unheard() -> RoleWatch:
    """Of members that don't hear each other's announcements: 2 takes the role up at cycle 200, beside 1."""
    role = RoleWatch("boundary", unheard=lambda first, second: True, news=50)
    role.elected(1, 1, 100)
    role.elected(2, 2, 200)
    return role


def test_two_that_could_not_hear_each_other_ask_have_time_until_the_news_gets_round() -> None:
    role = unheard()
    role.gone(1, 250)
    role.look(1000)
    assert (role.holder, role.wrong) == (2, [])


def test_no_longer() -> None:
    role = unheard()
    role.gone(1, 251)
    assert texts(role) == ["boundary at cycle 251: GPU 2 (epoch 2) beside 1 (epoch 1), since cycle 200"]


def test_nor_at_the_end_and_it_is_said_once() -> None:
    role = unheard()
    role.look(251)
    role.look(1000)
    assert len(role.wrong) == 1


def test_whoever_of_the_two_goes() -> None:
    role = unheard()
    role.gone(2, 250)
    role.look(1000)
    assert (role.holder, role.wrong) == (1, [])


def test_it_excuses_nobody_who_has_not_laid_the_role_down() -> None:
    role = unheard()
    role.elected(2, 4, 210)
    assert len(role.wrong) == 1
