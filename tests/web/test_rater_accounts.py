"""In a dashboard with accounts, a label carries the name of the account, whatever a form says."""

from pathlib import Path

from assay.web.page import Role
from assay.workflows.annotation import project_judgments
from tests.web.dashboards import create_annotation_project, save_experiments
from tests.web.teams import NAMES, add_accounts, create_team_app, log_in


def test_nobody_annotates_as_somebody_else(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    create_annotation_project(tmp_path, store)
    add_accounts(store)
    client = log_in(create_team_app(store), Role.JUDGE)
    turn = client.get("/annotate/shop.json", params={"rater": NAMES[Role.ADMIN]}).json()
    assert turn["rater"] == NAMES[Role.JUDGE]
    form = {"rater": NAMES[Role.ADMIN], "pair": str(turn["assignment"]["pair"]), "grade": "2"}
    assert client.post("/annotate/shop/grade", data=form).status_code == 303
    assert set(project_judgments("shop", str(store)).judges) == {NAMES[Role.JUDGE]}


def test_changed_keys_are_kept_for_each_account(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    add_accounts(store)
    app = create_team_app(store)
    for role in (Role.JUDGE, Role.ENGINEER):
        assert f'data-user="{NAMES[role]}"' in log_in(app, role).get("/experiments").text
