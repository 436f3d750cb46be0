"""Who calls a server, what they may see, how often they may come, and under which name the server answers."""

from __future__ import annotations

import pytest

from citewell.config import ServerSettings, Settings, Token
from citewell.config.tokens import digest_of
from citewell.errors import ConfigError, Forbidden, InvalidRequest, Unauthorized
from citewell.server.callers import ANYONE, Caller, Callers, check_exposure
from citewell.server.hosts import Hosts
from citewell.server.rates import Rates, TooOften

OPS = Token("ops", digest_of("a-token-of-ops-0001"))
TEAM = Token("team", digest_of("a-token-of-team-0002"), ("red", "white"), ingest=True)


@pytest.mark.requirement("API-4", "SAFE-3")
def test_a_token_names_its_caller_and_fixes_the_scope() -> None:
    callers = Callers([OPS, TEAM])
    assert callers.identify("Bearer a-token-of-ops-0001") == Caller("ops", None, ingest=False, apart=True)
    team = callers.identify("bearer   a-token-of-team-0002 ")
    assert (team.name, team.scope, team.ingest, team.bound) == ("team", ("red", "white"), True, True)


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer x", "Basic a-token-of-ops-0001", "a-token-of-ops-0001", "Bearer \ud800",
     f"Bearer sha256:{OPS.digest}", f"Bearer {OPS.digest}", "Bearer a-token-of-ops-0001x"],
)  # fmt: skip
def test_anything_else_is_refused_in_the_same_words(header: str | None) -> None:
    with pytest.raises(Unauthorized) as refused:
        Callers([OPS, TEAM]).identify(header)
    assert str(refused.value) == "a known bearer token is needed. Send `Authorization: Bearer TOKEN`."


@pytest.mark.requirement("API-4")
def test_without_tokens_anyone_is_let_in_whatever_they_bear() -> None:
    callers = Callers([])
    assert callers.open
    assert callers.identify("Bearer x") is callers.identify(None) is ANYONE


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(
    ("holds", "asks", "gets"),
    [
        (None, None, None),
        (None, ["x"], ("x",)),
        (None, [], ()),
        (("red", "white"), None, ("red", "white")),
        (("red", "white"), "white", ("white",)),
        (("red", "white"), ["white", "red"], ("red", "white")),
        (("red", "white"), [], ()),
        ((), None, ()),
    ],
)
def test_a_call_narrows_its_callers_scope(
    holds: tuple[str, ...] | None, asks: object, gets: tuple[str, ...] | None
) -> None:
    assert Caller("c", holds).narrowed(asks) == gets


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize(("holds", "asks"), [(("red",), ["red", "blue"]), ((), ["red"]), (("red",), "Red")])
def test_a_label_that_the_caller_does_not_hold_is_refused_without_naming_it(
    holds: tuple[str, ...], asks: object
) -> None:
    with pytest.raises(Forbidden, match=r"^the scope holds a label that this token doesn't"):
        Caller("c", holds).narrowed(asks)


@pytest.mark.requirement("SESSION-2", "API-4")
def test_callers_with_tokens_have_sessions_of_their_own() -> None:
    ann, bob = Caller("an/n", apart=True), Caller("an", apart=True)
    assert ann.session("s") == "an%2Fn/s"
    assert bob.session("n/s") == "an/n/s" != ann.session("s")
    assert ann.session(None) is None
    assert ANYONE.session("s") == "s"


@pytest.mark.requirement("API-4")
def test_who_may_only_read_changes_nothing() -> None:
    Caller("c", ingest=True).check_ingest()
    with pytest.raises(Forbidden, match="may look up"):
        Caller("c", ingest=False).check_ingest()


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "::1", "[::1]"])
def test_without_tokens_loopback_may_be_listened_on(host: str) -> None:
    check_exposure(host, Callers([]))


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "kb.example", "", "localhost.example"])  # noqa: S104 - refused
def test_without_tokens_nothing_else_may(host: str) -> None:
    with pytest.raises(InvalidRequest, match="may listen on loopback alone"):
        check_exposure(host, Callers([]))
    check_exposure(host, Callers([OPS]))


@pytest.mark.requirement("API-4", "API-7")
def test_tokens_are_kept_as_digests_and_shown_nowhere() -> None:
    raw = [{"name": "ops", "token": "a-token-of-ops-0001", "scope": "red"}]
    settings = Settings.of({"server.tokens": raw})
    assert settings.server.tokens == (Token("ops", OPS.digest, ("red",)),)
    assert "a-token-of-ops" not in repr(settings)
    assert {name: value for name, value, _ in settings.describe()}["server.tokens"] == "(set)"


@pytest.mark.requirement("API-7")
def test_tokens_come_as_json_and_as_digests_from_the_environment() -> None:
    raw = f'[{{"name": "ops", "token": "sha256:{OPS.digest}", "ingest": true}}]'
    settings = Settings.load(environment={"CITEWELL_SERVER__TOKENS": raw})
    assert settings.server.tokens == (Token("ops", OPS.digest, None, ingest=True),)


@pytest.mark.requirement("API-7")
@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("{", "no JSON list"),
        ({"name": "x"}, "no list of tables"),
        (["x"], r"server.tokens\[0\] is no table"),
        ([{"name": "x", "token": "short"}], r"server.tokens\[0\].token can't be used"),
        ([{"name": "x", "token": "sha256:12"}], r"server.tokens\[0\].token can't be used"),
        ([{"name": " ", "token": "a-token-of-ops-0001"}], "needs a name"),
        ([{"name": "x", "token": "a-token-of-ops-0001", "ingest": "yes"}], "needs a name, and ingest"),
        ([{"name": "x", "token": "a-token-of-ops-0001", "scopes": []}], "unknown keys: scopes"),
        ([{"name": "x", "token": "a-token-of-ops-0001", "scope": [3]}], "scope"),
        ([{"name": n, "token": "a-token-of-ops-0001"} for n in "xy"], "the same token"),
        ([{"name": "x", "token": f"a-token-of-ops-000{n}"} for n in "12"], "the same name"),
    ],
)
def test_tokens_that_cannot_be_used_are_refused_without_being_shown(raw: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as refused:
        Settings.of({"server.tokens": raw})
    assert "a-token-of-ops" not in str(refused.value)


@pytest.mark.requirement("API-4")
def test_a_caller_may_come_so_often_within_any_minute_and_one_does_not_count_for_another() -> None:
    now = [0.0]
    rates = Rates(2, clock=lambda: now[0])
    rates.count("a")
    now[0] = 30.0
    rates.count("a")
    with pytest.raises(TooOften) as refused:
        rates.count("a")
    assert refused.value.retry_after_s == 30
    rates.count("b")
    now[0] = 60.0
    rates.count("a")
    with pytest.raises(TooOften):
        rates.count("a")


@pytest.mark.requirement("API-4")
def test_a_rate_of_0_is_no_limit() -> None:
    rates = Rates(0)
    for _ in range(1_000):
        rates.count("a")


@pytest.mark.requirement("API-4")
@pytest.mark.parametrize(
    ("settings", "takes", "refuses"),
    [
        (
            ServerSettings(),
            ["127.0.0.1", "localhost:8642", "[::1]:1", "LOCALHOST"],
            ["evil.example", "", "127.0.0.1.x"],
        ),
        (ServerSettings(host="10.0.0.1"), ["10.0.0.1:8642"], ["localhost", "10.0.0.2"]),
        (ServerSettings(host="::1"), ["[::1]:8642", "localhost"], ["[::2]"]),
        (ServerSettings(allowed_hosts=("kb.example", "kb.local:80")), ["kb.example:1", "kb.local:80"], ["kb.local:81"]),
        (ServerSettings(public_url="https://kb.example/x"), ["kb.example", "127.0.0.1"], ["example"]),
        (ServerSettings(host="0.0.0.0"), ["whatever"], []),  # noqa: S104 - tokens guard it
    ],
)
def test_a_server_answers_under_its_own_names_alone(
    settings: ServerSettings, takes: list[str], refuses: list[str]
) -> None:
    hosts = Hosts(settings)
    assert [host for host in takes if not hosts.takes(host)] == []
    assert [host for host in refuses if hosts.takes(host)] == []
