"""The sample domain's database as the router sees it."""

from datetime import datetime

import pytest

from theworld.demo.credit import write_sample
from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.state import Context


@pytest.fixture(scope="session")
def asked() -> Context:
    return Context(now=datetime(2024, 12, 31, 12))  # noqa: DTZ001 - meant in the database's zone


@pytest.fixture(scope="session")
def mapped_settings(tmp_path_factory) -> Settings:
    paths = write_sample(tmp_path_factory.mktemp("credit"))
    url, zone = f"sqlite:///{paths['database']}", "Asia/Shanghai"
    return Settings(database={"url": url, "ontology": paths["ontology"], "timezone": zone})


@pytest.fixture(scope="session")
def read(mapped_settings):
    database = Database.open(mapped_settings.database)
    yield database.view
    database.close()
