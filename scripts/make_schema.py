"""Write schema/mklang.schema.json from the vocabulary. Run it after every change of src/mklang/lang/vocabulary.py."""

from pathlib import Path

from mklang.lang.schema import schema_text

if __name__ == "__main__":
    target = Path(__file__).parent.parent / "schema" / "mklang.schema.json"
    target.write_text(schema_text(), encoding="utf-8")
