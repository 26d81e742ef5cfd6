"""No operation on an organization is served unless somebody has said what it needs."""

import pytest
from fastapi import APIRouter

from analytiq.models.account import Permission, Role, TokenScope
from api.api_route import ApiRoute
from api.application import check_routes


def nothing() -> None:
    """An operation."""


def test_operation_without_a_rule_keeps_the_api_from_starting() -> None:
    router = APIRouter(route_class=ApiRoute)
    router.add_api_route("/things", nothing, operation_id="make_things", methods=["POST"])
    with pytest.raises(RuntimeError, match="make_things"):
        check_routes(router)


def test_operation_that_would_not_be_audited_keeps_the_api_from_starting() -> None:
    router = APIRouter()
    router.add_api_route("/tags", nothing, operation_id="list_tags")
    with pytest.raises(RuntimeError, match="ApiRoute"):
        check_routes(router)


def test_each_permission_includes_those_before_it_and_none_after() -> None:
    order = list(Permission)
    for place, permission in enumerate(order):
        assert [permission.includes(other) for other in order] == [other <= place for other in range(len(order))]


def test_roles_and_scopes_have_the_permissions_that_their_names_say() -> None:
    assert [role.permission for role in Role] == list(Permission)
    assert [scope.permission for scope in TokenScope] == [Permission.READ, Permission.WRITE, Permission.OWNER]
