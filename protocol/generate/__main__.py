"""`python -m ringhil.protocol.generate`: rewrite the generated files of the source tree."""

from ringhil.protocol.generate import outputs

for path, text in outputs().items():
    path.write_text(text, encoding="utf-8")
    print(path.name)
