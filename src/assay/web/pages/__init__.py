"""The pages, in the order of the navigation: one module each, with its template beside it."""

from collections.abc import Sequence

from assay.web.page import PageModule
from assay.web.pages import (
    account,
    agreement,
    annotate,
    audit,
    compare,
    datasets,
    experiment,
    experiments,
    failures,
    home,
    index_findings,
    indexes,
    jobs,
    judges,
    online,
    online_interleaving,
    online_prediction,
    online_test,
    people,
    query,
    search,
    upload,
)

MODULES: Sequence[PageModule] = (
    home,
    experiments,
    experiment,
    compare,
    query,
    failures,
    indexes,
    index_findings,
    datasets,
    annotate,
    agreement,
    judges,
    online,
    online_test,
    online_interleaving,
    online_prediction,
    jobs,
    upload,
    search,
    people,
    account,
    audit,
)
