"""What a page is: an address, its parameters, what it reads, and the template that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict


class Role(IntEnum):
    """What a person may do; each role may do what those before it may."""

    VIEWER = 1
    JUDGE = 2
    ENGINEER = 3
    ADMIN = 4


class Parameters(BaseModel):
    """The parameters of an address; an unknown one is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PageValue(Protocol):
    """What a page shows."""

    def to_dict(self) -> Any:
        """Return the value as plain data, which is the page's JSON."""


@dataclass(frozen=True)
class Context:
    """What a page or an action works with: the store and the person."""

    store: str  # the URL of the store
    user: str = ""  # the name of the person; empty: the only one, without a login
    role: Role = Role.ADMIN
    benches: Mapping[str, str] = field(default_factory=dict)  # folders of trials by their names
    address: str = ""  # of the machine that the request comes from


@dataclass(frozen=True)
class View:
    """A value as a template shows it, and the command that gives the same."""

    title: str
    command: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """One page: `/name`, and its data at `/name.json`.

    `read` calls a workflow; `present` turns its value into what the template shows.
    """

    path: str
    label: str  # in the navigation; empty: not in it
    template: str
    read: Callable[[Context, Any], PageValue]
    present: Callable[[Context, Any, Any], View]
    parameters: type[Parameters] = Parameters
    role: Role = Role.VIEWER
    key: str = ""  # pressed after G, it opens the page
    export: Callable[[Context, Any], tuple[Sequence[str], Sequence[Sequence[str]]]] | None = None
    """The head and the rows of the first table in full, if the page shows only a part of it."""
    is_long: bool = False  # whether `read`, which changes nothing, can take seconds for the first time

    @property
    def json_path(self) -> str:
        """The address of the data."""
        return "/index.json" if self.path == "/" else f"{self.path}.json"

    @property
    def csv_path(self) -> str:
        """The address of its tables as CSV."""
        return f"{self.json_path.removesuffix('json')}csv"


@dataclass(frozen=True)
class Result:
    """What an action did: where to go next, and a sentence about it."""

    location: str
    message: str = ""
    value: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Action:
    """A change that a form or a key makes: POST to `path`; it calls one workflow."""

    path: str
    form: type[Parameters]
    run: Callable[[Context, Any], Result]
    role: Role = Role.ENGINEER


@dataclass(frozen=True)
class Document:
    """What programs read at an address: a text that is not a page."""

    path: str
    media_type: str
    read: Callable[[Context], str]
    role: Role = Role.VIEWER


class PageModule(Protocol):
    """A module of `pages`: its pages and its actions."""

    @property
    def PAGES(self) -> Sequence[Page]:
        """The pages."""

    @property
    def ACTIONS(self) -> Sequence[Action]:
        """The changes that can be made on them."""
