"""The agent over a project with two tables, in a process and a warehouse of its own, for
test_agent.py. Its log is a view of the folder `landing`: one file of JSON lines after the other."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from capturing import LOG_DDL, instance_yaml
from harness import PACKAGE, Project, interpret, start_spark
from reference.capture import CaptureInstance

INSTANCES = [
    CaptureInstance("dbo", name, f"dbo_{name}", (("id", "int"),), ("id",))
    for name in ("items", "notes")
]


def main(folder: Path) -> None:
    """Runs scripts/agent.py until a signal ends it; its project is `folder`/project."""
    spark = start_spark(folder, metastore=f"{folder}/metastore")
    interpret(spark)
    log = f"select inline(array(from_json(value, '{LOG_DDL}'))) from text.`{folder}/landing`"
    models = {"raw_log.sql": log, "instances.yml": instance_yaml(INSTANCES)}
    for instance in INSTANCES:
        models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
    variables = {"cdc_log_model": "raw_log", "cdc_persistent_functions": False}
    project = Project(folder / "project", spark, models=models, vars=variables)
    script = str(PACKAGE / "scripts" / "agent.py")
    options = ["--project-dir", str(project.folder), "--profiles-dir", "."]
    sys.argv = [script, *options]
    sys.path.insert(0, str(PACKAGE / "scripts"))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
