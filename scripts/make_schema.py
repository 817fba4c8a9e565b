"""Write the schemas in ``schema/``: of machines, from the vocabulary; of a run's output, from the table of its keys.

Run it after every change of ``src/mklang/lang/vocabulary.py`` or ``src/mklang/engine/wire_keys.py``.
"""

from pathlib import Path

from mklang.engine.result_schema import result_schema_text
from mklang.lang.schema import schema_text

FILES = {"mklang.schema.json": schema_text, "run-result.schema.json": result_schema_text}

if __name__ == "__main__":
    for name, text in FILES.items():
        (Path(__file__).parent.parent / "schema" / name).write_text(text(), encoding="utf-8")
