"""Write src/assay/web/static/vega.min.js: Vega, Vega-Lite and Vega-Embed in one file.

It needs the extra `report`. The file is committed, so that neither a build step nor vl-convert is
needed to serve it; the licences are in vega.LICENSE beside it.
"""

from pathlib import Path

import vl_convert

TARGET = Path(__file__).parent.parent / "src/assay/web/static/vega.min.js"


def write_bundle() -> None:
    """Write the bundle; its names stay inside, except those that it sets on `window`."""
    bundle = vl_convert.javascript_bundle(snippet=None)  # type: ignore[arg-type]  # its stubs are wrong
    versions = f"Vega {vl_convert.get_vega_version()}, Vega-Embed {vl_convert.get_vega_embed_version()}"
    head = f"/* {versions}; licences: vega.LICENSE */\n"
    TARGET.write_text(f'{head}(() => {{"use strict";\n{bundle}\n}})();\n')


if __name__ == "__main__":
    write_bundle()
